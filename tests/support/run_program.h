// Runs a program and keeps what it wrote.
#ifndef ATTUNE_TESTS_SUPPORT_RUN_PROGRAM_H_
#define ATTUNE_TESTS_SUPPORT_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace attune::testing {

struct ProgramInput {
  std::vector<std::string> arguments = {};
  std::string standard_input = {};
  // "NAME=value", added to this process's environment.
  std::vector<std::string> environment = {};
  // Connects standard output to a terminal of 100 columns instead of a file.
  bool on_terminal = false;
};

struct ProgramResult {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

// Blocks until the program ends. Aborts the test program if it cannot be started.
ProgramResult RunProgram(const std::string& path, const ProgramInput& input);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_RUN_PROGRAM_H_
