#include "client/cli/format_flag.h"

#include "absl/strings/str_cat.h"

namespace attune::cli {

void AddFormatFlag(Flags& flags, const std::vector<std::string>& formats, std::string& format,
                   const std::string& description, const std::string& group) {
  std::vector<Flag> all = {
      flags.Add("-f,--format", format, description).OneOf(formats).ShowDefault().Group(group)};
  for (size_t i = 1; i < formats.size(); ++i) {
    const std::string& name = formats[i];
    Flag flag = flags.AddSwitch(
        absl::StrCat("--", name), [&format, name] { format = name; },
        absl::StrCat("Short for --format ", name));
    flag.Group(group);
    for (Flag other : all) flag.Excludes(other);
    all.push_back(flag);
  }
}

}  // namespace attune::cli
