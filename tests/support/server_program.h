// The attune-server program while it runs, as an operator starts it.
#ifndef ATTUNE_TESTS_SUPPORT_SERVER_PROGRAM_H_
#define ATTUNE_TESTS_SUPPORT_SERVER_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace attune::testing {

// The program under test, from the environment of the test.
const char* ServerBinary();

// The default ports may be in use, by another test for one.
inline constexpr char kNoHttpPort[] = "ATTUNE_HTTP_ADDRESS=off";
inline constexpr char kNoOpsPort[] = "ATTUNE_OPS_ADDRESS=off";

// Its standard error and output are in one pipe. Killed at the end if it still runs.
class ServerProgram {
 public:
  // Starts it. `environment` are "NAME=value", added to this process's and to the two
  // above. `errors_to` names a file for its standard error, in place of the pipe.
  explicit ServerProgram(const std::vector<std::string>& arguments,
                         std::vector<std::string> environment = {},
                         const std::string& errors_to = "");
  ServerProgram(const ServerProgram&) = delete;
  ServerProgram& operator=(const ServerProgram&) = delete;
  ~ServerProgram();

  // Reads lines until one holds `part`; returns it, or "" at the end of the output.
  std::string ReadUntil(const std::string& part);
  // All of the output, once the program has closed it.
  std::string ReadAll();

  // Closes the pipe, so that it has nobody to write to any more.
  void StopReading();

  pid_t pid() const { return pid_; }
  void Signal(int number) const;

  // The most memory that it has had so far. REQUIRES: it runs.
  int64_t PeakResidentBytes() const;

  // The exit code, or minus the signal that ended it.
  int Wait();

 private:
  pid_t pid_ = -1;
  FILE* output_ = nullptr;
  std::string all_;
};

// The whole number under `key` in a log line, or 0.
int64_t NumberOf(const std::string& line, const std::string& key);

// The port in a log line, or 0. `field` is "port" for gRPC, "http_port" or "ops_port".
int PortOf(const std::string& line, const std::string& field = "port");

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_SERVER_PROGRAM_H_
