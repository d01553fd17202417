// Runs the `attune` program as a user does, against a scripted server.
#ifndef ATTUNE_TESTS_CLIENT_CLI_PROGRAM_FIXTURE_H_
#define ATTUNE_TESTS_CLIENT_CLI_PROGRAM_FIXTURE_H_

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace attune::testing {

// Exit codes.
inline constexpr int kOk = 0;
inline constexpr int kError = 1;
inline constexpr int kUsage = 2;

class ProgramTest : public ::testing::Test {
 protected:
  // Runs `attune ARGUMENTS...` with the server's address in the environment.
  ProgramResult Attune(std::vector<std::string> arguments, ProgramInput input = {}) {
    input.arguments = std::move(arguments);
    input.environment.push_back("ATTUNE_SERVER=" + server_.address());
    return RunProgram(ATTUNE_PROGRAM, input);
  }

  // Writes a file that goes away with the test.
  std::string File(const std::string& name, const std::string& content) {
    const std::string path = folder_.Path(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static std::string Content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  TempDir folder_;
  FakeServer server_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_CLIENT_CLI_PROGRAM_FIXTURE_H_
