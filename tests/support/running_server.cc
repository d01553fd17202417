#include "tests/support/running_server.h"

#include <grpcpp/create_channel.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/metrics_text.h"

namespace attune::testing {
namespace {

// As variables, so that a test's own flags win.
std::vector<std::string> Environment(const std::vector<std::string>& more) {
  std::vector<std::string> environment = {
      "ATTUNE_GRPC_ADDRESS=127.0.0.1:0", "ATTUNE_HTTP_ADDRESS=127.0.0.1:0",
      "ATTUNE_OPS_ADDRESS=127.0.0.1:0",  "ATTUNE_PRECISION=f32",
      "ATTUNE_DRAIN_DELAY=0s",           "ATTUNE_ACCESS_LOG=false"};
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

std::vector<std::string> Arguments(const std::string& model,
                                   const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"--model", model};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

}  // namespace

RunningServer::RunningServer(const std::string& model, const std::vector<std::string>& flags,
                             const std::vector<std::string>& environment)
    : program_(Arguments(model, flags), Environment(environment)) {
  port_ = PortOf(program_.ReadUntil("\"port\":"));
  http_port_ = PortOf(program_.ReadUntil("\"http_port\":"), "http_port");
  ops_port_ = PortOf(program_.ReadUntil("\"ops_port\":"), "ops_port");
  serving_ = program_.ReadUntil("\"serving\"");
  EXPECT_NE(serving_, "");
  stub_ = v1::EncoderService::NewStub(NewChannel());
}

std::shared_ptr<grpc::Channel> RunningServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_),
                                   grpc::InsecureChannelCredentials(), arguments);
}

std::map<std::string, double> RunningServer::Metrics() const {
  const HttpReply reply = Get(ops_port_, "/metrics");
  EXPECT_EQ(reply.status, 200);
  return ParseMetrics(reply.body);
}

void RunningServer::WaitForMetric(const std::string& series, double value) const {
  while (Metrics().at(series) != value) absl::SleepFor(absl::Milliseconds(5));
}

std::string RunningServer::Reload() {
  absl::SleepFor(absl::Milliseconds(120));  // of each event the log takes ten lines a second
  program_.Signal(SIGHUP);
  EXPECT_NE(program_.ReadUntil("\"reloading\""), "");
  return program_.ReadUntil("\"reload");  // "reloaded" or "reload_failed"
}

int RunningServer::Stop() {
  program_.Signal(SIGTERM);
  return program_.Wait();
}

}  // namespace attune::testing
