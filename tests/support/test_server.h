// A real server on a free loopback port, and a real channel to it.
#ifndef ATTUNE_TESTS_SUPPORT_TEST_SERVER_H_
#define ATTUNE_TESTS_SUPPORT_TEST_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "attune/v1/attune.grpc.pb.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/server.h"

namespace attune::testing {

// Options for tests: the model in f32, port 0, no HTTP or ops port, no access log, two workers, no
// drain delay.
ServerOptions TestOptions(const std::string& model_path);

// Loads and serves until it is destroyed. Aborts the test process if the server does not start.
class TestServer {
 public:
  explicit TestServer(const ServerOptions& options);

  Server& server() { return *server_; }
  std::string address() const;
  v1::EncoderService::Stub& stub() { return *stub_; }
  grpc::health::v1::Health::Stub& health() { return *health_; }

  // A channel of its own, with no limit on what it receives.
  std::shared_ptr<grpc::Channel> NewChannel() const;

 private:
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::EncoderService::Stub> stub_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

// A client context whose call ends after `timeout`: by default so late that a call on a busy
// machine under a sanitizer is answered first, and before CTest ends the test.
std::unique_ptr<grpc::ClientContext> WithDeadline(absl::Duration timeout = absl::Seconds(100));

// {status} of an Encode of `texts`, and the reply.
struct EncodeResult {
  grpc::Status status;
  v1::EncodeResponse response;
};
EncodeResult Encode(v1::EncoderService::Stub& stub, const std::vector<std::string>& texts,
                    const v1::EncodeOptions& options = {});
EncodeResult Encode(v1::EncoderService::Stub& stub, const v1::EncodeRequest& request);

// What a unary call of `method`, which no service need have, ends with; `message` are the raw bytes
// of the request, `authorization` the values of that metadata key.
grpc::Status CallRaw(const TestServer& server, const std::string& method,
                     const std::string& message = "",
                     const std::vector<std::string>& authorization = {});

// Matches a grpc::Status by code and message part.
MATCHER_P2(GrpcStatusIs, code, message_part, "") {
  *result_listener << "code " << arg.error_code() << ", message \"" << arg.error_message() << "\"";
  return arg.error_code() == code && arg.error_message().find(message_part) != std::string::npos;
}

MATCHER(IsGrpcOk, "is OK") {
  *result_listener << "code " << arg.error_code() << ", message \"" << arg.error_message() << "\"";
  return arg.ok();
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_TEST_SERVER_H_
