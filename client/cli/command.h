// A sub-command of `attune`.
#ifndef ATTUNE_CLIENT_CLI_COMMAND_H_
#define ATTUNE_CLIENT_CLI_COMMAND_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/flags.h"
#include "client/client.h"

namespace attune::cli {

class Command {
 public:
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  // Whether the command line named this command.
  bool selected() const { return flags_.command_given(); }
  const ClientOptions& client_options() const { return client_options_; }

  // Does the work and writes standard output. An error is reported by the caller.
  virtual absl::Status Run() = 0;

 protected:
  // Adds the command to `parent`, with the flags of a connection and --timeout. `examples` are
  // shown under the help.
  Command(CLI::App& parent, const std::string& name, const std::string& description,
          const std::string& examples);

  Flags& flags() { return flags_; }
  absl::StatusOr<std::unique_ptr<Client>> Connect() const {
    return Client::Create(client_options_);
  }

 private:
  Flags flags_;
  ClientOptions client_options_;
};

// Writes to standard output. kUnknown with the system's reason if it cannot be written, e.g.
// because the disk is full.
absl::Status Print(absl::string_view text);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_COMMAND_H_
