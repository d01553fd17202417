#include "client/cli/command.h"

#include <cerrno>
#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace attune::cli {

Command::Command(CLI::App& parent, const std::string& name, const std::string& description,
                 const std::string& examples)
    : app_(parent.add_subcommand(name, description)) {
  app_->footer(examples);
  app_->add_option("-s,--server", client_options_.address, "The server's address")
      ->type_name("HOST:PORT")
      ->envname("ATTUNE_SERVER")
      ->check([](const std::string& address) {
        return address.empty() ? std::string("the server's address is empty") : std::string();
      })
      ->capture_default_str();
  AddDurationOption(*app_, "--timeout", client_options_.deadline,
                    "Longest time for each call, e.g. 5, 500ms or 2m");
}

absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view text) {
  absl::Duration duration;
  double seconds = 0;
  const bool parsed = absl::SimpleAtod(text, &seconds) ? (duration = absl::Seconds(seconds), true)
                                                       : absl::ParseDuration(text, &duration);
  if (!parsed || duration <= absl::ZeroDuration() || duration > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a time such as 5, 500ms or 2m, above 0 and up to 24h"));
  }
  return duration;
}

CLI::Option* AddDurationOption(CLI::App& app, const std::string& name, absl::Duration& value,
                               const std::string& description) {
  const auto parse = [&value](const CLI::results_t& results) {
    const absl::StatusOr<absl::Duration> duration = ParseDurationFlag(results.back());
    if (duration.ok()) value = *duration;
    return duration.ok();
  };
  const auto check = [](const std::string& text) {
    return std::string(ParseDurationFlag(text).status().message());
  };
  return app.add_option(name, parse, description)
      ->type_name("TIME")
      ->check(check)
      ->default_str(absl::FormatDuration(value));
}

absl::Status Print(absl::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return absl::ErrnoToStatus(errno, "cannot write standard output");
  }
  return absl::OkStatus();
}

}  // namespace attune::cli
