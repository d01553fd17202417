#include "client/cli/command.h"

#include <cerrno>
#include <cstdio>

namespace attune::cli {

Command::Command(CLI::App& parent, const std::string& name, const std::string& description,
                 const std::string& examples)
    : flags_(parent, name, description, examples) {
  flags_.Add("-s,--server", client_options_.address, "The server's address")
      .Takes("HOST:PORT")
      .Variable("ATTUNE_SERVER")
      .Valid([](absl::string_view address) {
        return address.empty() ? absl::InvalidArgumentError("the server's address is empty")
                               : absl::OkStatus();
      })
      .ShowDefault();
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
