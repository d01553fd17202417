// The sub-commands of `attune`, each in a file of its own.
#ifndef ATTUNE_CLIENT_CLI_COMMANDS_H_
#define ATTUNE_CLIENT_CLI_COMMANDS_H_

#include <memory>

#include "client/cli/command.h"

namespace attune::cli {

std::unique_ptr<Command> MakeEncodeCommand(CLI::App& parent);
std::unique_ptr<Command> MakeAttentionCommand(CLI::App& parent);
std::unique_ptr<Command> MakeHeadsCommand(CLI::App& parent);
std::unique_ptr<Command> MakeExportHtmlCommand(CLI::App& parent);
std::unique_ptr<Command> MakeExplainCommand(CLI::App& parent);
std::unique_ptr<Command> MakeAttendCommand(CLI::App& parent);
std::unique_ptr<Command> MakeTokenizeCommand(CLI::App& parent);
std::unique_ptr<Command> MakeInfoCommand(CLI::App& parent);
std::unique_ptr<Command> MakeHealthCommand(CLI::App& parent);
std::unique_ptr<Command> MakeBenchCommand(CLI::App& parent);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_COMMANDS_H_
