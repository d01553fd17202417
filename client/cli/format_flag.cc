#include "client/cli/format_flag.h"

#include "absl/strings/str_cat.h"

namespace attune::cli {

void AddFormatFlag(CLI::App& app, const std::vector<std::string>& formats, std::string& format,
                   const std::string& description, const std::string& group) {
  std::vector<CLI::Option*> all = {app.add_option("-f,--format", format, description)
                                       ->check(CLI::IsMember(formats))
                                       ->capture_default_str()
                                       ->group(group)};
  for (size_t i = 1; i < formats.size(); ++i) {
    const std::string& name = formats[i];
    CLI::Option* flag = app.add_flag_callback(
        absl::StrCat("--", name), [&format, name] { format = name; },
        absl::StrCat("Short for --format ", name));
    flag->group(group);
    for (CLI::Option* other : all) flag->excludes(other);
    all.push_back(flag);
  }
}

}  // namespace attune::cli
