// `attune`, the command line of an attune server.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cli/commands.h"
#include "client/cli/report.h"

namespace attune::cli {
namespace {

constexpr const char* kDescription =
    "Text to vectors, and what attention did while the text was read: the client of attune-server.";
constexpr const char* kFooter =
    "Start a server with `attune-server`, then:\n"
    "  attune encode --similarity \"a cat sleeps\" \"a kitten naps\" \"stocks fell\"\n"
    "  attune attention \"the cat sat because it was tired\"\n"
    "`attune COMMAND --help` shows what each command can do.\n\n"
    "Exit codes: 0 done, 1 an error (standard error says what to do), 2 wrong usage.";

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "attune");
  app.footer(kFooter);
  app.set_version_flag("--version", "attune " ATTUNE_VERSION);
  app.require_subcommand(1);
  std::vector<std::unique_ptr<Command>> commands;
  for (const auto make :
       {MakeEncodeCommand, MakeAttentionCommand, MakeHeadsCommand, MakeExportHtmlCommand,
        MakeExplainCommand, MakeAttendCommand, MakeTokenizeCommand, MakeInfoCommand,
        MakeHealthCommand, MakeBenchCommand}) {
    commands.push_back(make(app));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  for (const auto& command : commands) {
    if (!command->selected()) continue;
    const absl::Status status = command->Run();
    if (status.ok()) return kExitOk;
    std::fputs(DescribeError(status, command->client_options()).c_str(), stderr);
    return kExitError;
  }
  return kExitUsage;  // not reached: a command is required
}

}  // namespace
}  // namespace attune::cli

int main(int argc, char** argv) {
  // Errors are reported by the command; gRPC's own log lines are for who asks for them.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return attune::cli::Main(argc, argv);
}
