// The attune-server program while it serves on ports of its own, with clients for them.
#ifndef ATTUNE_TESTS_SUPPORT_RUNNING_SERVER_H_
#define ATTUNE_TESTS_SUPPORT_RUNNING_SERVER_H_

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/v1/attune.grpc.pb.h"
#include "tests/support/server_program.h"

namespace attune::testing {

// Serves from the constructor on: the model in f32, gRPC, HTTP and the operator's port on free
// ports of loopback, no access log, no drain delay. Killed at the end if it still runs.
class RunningServer {
 public:
  // `flags` win over the above. `environment` as ServerProgram takes it.
  explicit RunningServer(const std::string& model, const std::vector<std::string>& flags = {},
                         const std::vector<std::string>& environment = {});

  ServerProgram& program() { return program_; }
  int http_port() const { return http_port_; }
  int ops_port() const { return ops_port_; }
  // The line that says that it serves.
  const std::string& serving() const { return serving_; }

  v1::EncoderService::Stub& stub() { return *stub_; }
  // A connection of its own, with no limit on what it receives.
  std::shared_ptr<grpc::Channel> NewChannel() const;

  // What /metrics says now, by series.
  std::map<std::string, double> Metrics() const;
  // Waits until `series` has `value`; as long as CTest lets it.
  void WaitForMetric(const std::string& series, double value) const;

  // Has it load the model again, with SIGHUP; the line of the log that says how that ended.
  std::string Reload();

  // Ends it with SIGTERM; the exit code.
  int Stop();

 private:
  ServerProgram program_;
  int port_ = 0;
  int http_port_ = 0;
  int ops_port_ = 0;
  std::string serving_;
  std::unique_ptr<v1::EncoderService::Stub> stub_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_RUNNING_SERVER_H_
