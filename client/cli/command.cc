#include "client/cli/command.h"

#include <cerrno>
#include <cstdio>

#include "client/cli/connection_flags.h"

namespace attune::cli {

Command::Command(CLI::App& parent, const std::string& name, const std::string& description,
                 const std::string& examples)
    : flags_(parent, name, description, examples) {
  AddConnectionFlags(flags_, client_options_);
  flags_.AddDuration("--timeout", client_options_.deadline,
                     "Longest time for each call, e.g. 5, 500ms or 2m");
}

absl::Status Print(absl::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return absl::ErrnoToStatus(errno, "cannot write standard output");
  }
  return absl::OkStatus();
}

}  // namespace attune::cli
