#include "tests/support/test_server.h"

#include <grpcpp/generic/generic_stub.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace attune::testing {

ServerOptions TestOptions(const std::string& model_path) {
  ServerOptions options;
  options.grpc_address = "127.0.0.1:0";
  options.http_address = "off";
  options.ops_address = "off";
  options.access_log = false;
  options.model = model_path;
  options.threads = 2;
  options.precision = "f32";  // the same on every CPU
  options.drain_delay = absl::ZeroDuration();
  options.max_queue_wait = absl::Hours(24);  // nobody is refused for how slow the machine is
  return options;
}

TestServer::TestServer(const ServerOptions& options) {
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Bind(options);
  const absl::Status started = server.ok() ? (*server)->Load() : server.status();
  if (!started.ok()) {
    std::cerr << "the test's server does not start: " << started << std::endl;
    std::abort();
  }
  server_ = *std::move(server);
  const std::shared_ptr<grpc::Channel> channel = NewChannel();
  stub_ = v1::EncoderService::NewStub(channel);
  health_ = grpc::health::v1::Health::NewStub(channel);
}

std::string TestServer::address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

std::shared_ptr<grpc::Channel> TestServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments);
}

std::unique_ptr<grpc::ClientContext> WithDeadline(absl::Duration timeout) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return context;
}

EncodeResult Encode(v1::EncoderService::Stub& stub, const std::vector<std::string>& texts,
                    const v1::EncodeOptions& options) {
  v1::EncodeRequest request;
  for (const std::string& text : texts) request.mutable_texts()->add_values(text);
  *request.mutable_options() = options;
  return Encode(stub, request);
}

EncodeResult Encode(v1::EncoderService::Stub& stub, const v1::EncodeRequest& request) {
  EncodeResult result;
  const auto context = WithDeadline();
  result.status = stub.Encode(context.get(), request, &result.response);
  return result;
}

grpc::Status CallRaw(const TestServer& server, const std::string& method,
                     const std::string& message, const std::vector<std::string>& authorization) {
  grpc::GenericStub stub(server.NewChannel());
  grpc::CompletionQueue queue;
  const auto context = WithDeadline();
  for (const std::string& value : authorization) context->AddMetadata("authorization", value);
  grpc::Slice slice(message);
  const auto call =
      stub.PrepareUnaryCall(context.get(), method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  return status;
}

}  // namespace attune::testing
