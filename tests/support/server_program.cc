#include "tests/support/server_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace attune::testing {

const char* ServerBinary() { return std::getenv("ATTUNE_SERVER_BINARY"); }

ServerProgram::ServerProgram(const std::vector<std::string>& arguments,
                             std::vector<std::string> environment, const std::string& errors_to) {
  environment.insert(environment.begin(), {kNoHttpPort, kNoOpsPort});
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    const int errors = errors_to.empty() ? ends[1] : open(errors_to.c_str(), O_WRONLY | O_APPEND);
    dup2(errors, STDERR_FILENO);
    close(ends[0]);
    const char* binary = ServerBinary();
    std::vector<char*> argv = {const_cast<char*>(binary)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    for (std::string& variable : environment) putenv(variable.data());
    execv(binary, argv.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = fdopen(ends[0], "r");
}

ServerProgram::~ServerProgram() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  StopReading();
}

void ServerProgram::StopReading() {
  if (output_ != nullptr) fclose(std::exchange(output_, nullptr));
}

std::string ServerProgram::ReadUntil(const std::string& part) {
  std::string line;
  for (int c = fgetc(output_); c != EOF; c = fgetc(output_)) {
    line += static_cast<char>(c);
    if (c != '\n') continue;
    all_ += line;
    if (line.find(part) != std::string::npos) return line;
    line.clear();
  }
  all_ += line;
  return "";
}

std::string ServerProgram::ReadAll() {
  ReadUntil(std::string(1, '\0'));
  return all_;
}

void ServerProgram::Signal(int number) const { kill(pid_, number); }

int ServerProgram::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int64_t ServerProgram::PeakResidentBytes() const {
  std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
  int64_t kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> kilobytes;
  }
  EXPECT_GT(kilobytes, 0);
  return kilobytes << 10;
}

int64_t NumberOf(const std::string& line, const std::string& key) {
  const std::vector<std::string> parts = absl::StrSplit(line, absl::StrCat("\"", key, "\":"));
  int64_t number = 0;
  if (parts.size() == 2) {
    const std::string digits = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
    EXPECT_TRUE(absl::SimpleAtoi(digits, &number)) << line;
  }
  return number;
}

int PortOf(const std::string& line, const std::string& field) {
  return static_cast<int>(NumberOf(line, field));
}

}  // namespace attune::testing
