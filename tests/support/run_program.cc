#include "tests/support/run_program.h"

#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/temp_dir.h"

extern char** environ;

namespace attune::testing {
namespace {

void Require(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::abort();
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the other side writes, until it closes the terminal.
std::string ReadTerminal(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t bytes = read(fd, buffer, sizeof(buffer)); bytes > 0;
       bytes = read(fd, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<size_t>(bytes));
  }
  return text;
}

}  // namespace

ProgramResult RunProgram(const std::string& path, const ProgramInput& input) {
  const TempDir files;
  files.Write("in", input.standard_input);
  files.Write("out", "");
  files.Write("err", "");
  std::vector<std::string> arguments = {path};
  arguments.insert(arguments.end(), input.arguments.begin(), input.arguments.end());
  // The first of two equal names wins.
  std::vector<std::string> environment = input.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, files.Path("in").c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files.Path("err").c_str(), O_WRONLY, 0);
  int terminal = -1;
  int program_side = -1;
  if (input.on_terminal) {
    const winsize size{.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
    Require(openpty(&terminal, &program_side, nullptr, nullptr, &size) == 0, "openpty");
    posix_spawn_file_actions_adddup2(&actions, program_side, STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, program_side);
    posix_spawn_file_actions_addclose(&actions, terminal);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, files.Path("out").c_str(), O_WRONLY,
                                     0);
  }

  pid_t pid = 0;
  Require(posix_spawn(&pid, path.c_str(), &actions, nullptr, Pointers(arguments).data(),
                      Pointers(environment).data()) == 0,
          path.c_str());
  posix_spawn_file_actions_destroy(&actions);
  ProgramResult result;
  if (input.on_terminal) {
    close(program_side);
    result.out = ReadTerminal(terminal);
    close(terminal);
  }
  int status = 0;
  Require(waitpid(pid, &status, 0) == pid, "waitpid");
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (!input.on_terminal) result.out = files.Read("out");
  result.err = files.Read("err");
  return result;
}

}  // namespace attune::testing
