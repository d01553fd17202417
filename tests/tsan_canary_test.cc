// Shows that ThreadSanitizer, with the suppressions the server's tests run under, still sees. With
// the argument `racy`, a race is planted in a service's handler and ctest demands the report;
// without it, the same traffic must be silent.
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class CountingService : public Health::CallbackService {
 public:
  explicit CountingService(bool racy) : racy_(racy) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const HealthCheckRequest* /*request*/,
                                  HealthCheckResponse* response) override {
    if (racy_) {
      ++unguarded_calls_;
    } else {
      ++guarded_calls_;
    }
    response->set_status(HealthCheckResponse::SERVING);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  int64_t calls() const { return unguarded_calls_ + guarded_calls_; }

 private:
  const bool racy_;
  int64_t unguarded_calls_ = 0;  // the race
  std::atomic<int64_t> guarded_calls_ = 0;
};

void CallRepeatedly(const std::string& address, int id) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("canary.client", id);  // keeps the clients from sharing one connection
  const std::unique_ptr<Health::Stub> stub = Health::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  for (int call = 0; call < 200; ++call) {
    grpc::ClientContext context;
    HealthCheckResponse response;
    if (!stub->Check(&context, HealthCheckRequest(), &response).ok()) {
      std::cerr << "client " << id << ": call " << call << " failed\n";
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool racy = argc > 1 && std::string(argv[1]) == "racy";
  CountingService service(racy);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "the server does not start\n";
    return 1;
  }
  std::vector<std::thread> clients;
  for (int id = 0; id < 4; ++id) {
    clients.emplace_back(CallRepeatedly, absl::StrCat("127.0.0.1:", port), id);
  }
  for (std::thread& client : clients) client.join();
  server->Shutdown();
  std::cout << service.calls() << " calls counted\n";
  return 0;
}
