// An in-process server on a loopback port of its own, whose answers a test scripts.
#ifndef ATTUNE_TESTS_CLIENT_FAKE_SERVER_H_
#define ATTUNE_TESTS_CLIENT_FAKE_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/v1/attune.grpc.pb.h"
#include "engine/base/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/server.h"

namespace attune::testing {

using HealthState = grpc::health::v1::HealthCheckResponse::ServingStatus;

// What a call was seen with.
struct SeenCall {
  std::string method;
  bool has_deadline = false;
};

// Embeds every text as [number of bytes, first byte, 1, 0] with one token per byte, cut at
// max_tokens; a pair like its texts put together, a list of ids as [number of ids, first id, 1, 0].
// Everything can be overridden.
class FakeEncoder final : public v1::EncoderService::Service {
 public:
  using EncodeFunction =
      std::function<grpc::Status(grpc::ServerContext& context, const v1::EncodeRequest& request,
                                 v1::EncodeResponse& response)>;

  static constexpr uint32_t kDimension = 4;
  static grpc::Status DefaultEncode(const v1::EncodeRequest& request, v1::EncodeResponse& response);
  static v1::GetModelResponse DefaultModel();

  // Set before the first call.
  EncodeFunction encode;
  std::function<grpc::Status(const v1::AttentionMapRequest&, v1::AttentionMapResponse&)> attention;
  using StreamWriter = grpc::ServerWriter<v1::StreamAttentionMapResponse>;
  // By default a map without matrices.
  std::function<grpc::Status(const v1::AttentionQuery&, StreamWriter&)> attention_stream;
  using TextReader = grpc::ServerReader<v1::HeadStatisticsRequest>;
  // By default reads all and counts them.
  std::function<grpc::Status(grpc::ServerContext&, TextReader&, v1::HeadStatisticsResponse&)>
      head_statistics;
  std::function<grpc::Status(const v1::TokenizeRequest&, v1::TokenizeResponse&)> tokenize;
  v1::GetModelResponse model = DefaultModel();
  v1::AttendResponse attend_response;

  std::vector<SeenCall> calls() const;
  size_t CountCalls(const std::string& method) const;
  v1::AttendRequest last_attend() const;

 private:
  grpc::Status Encode(grpc::ServerContext* context, const v1::EncodeRequest* request,
                      v1::EncodeResponse* response) override;
  grpc::Status AttentionMap(grpc::ServerContext* context, const v1::AttentionMapRequest* request,
                            v1::AttentionMapResponse* response) override;
  grpc::Status StreamAttentionMap(grpc::ServerContext* context,
                                  const v1::StreamAttentionMapRequest* request,
                                  StreamWriter* writer) override;
  grpc::Status HeadStatistics(grpc::ServerContext* context, TextReader* reader,
                              v1::HeadStatisticsResponse* response) override;
  grpc::Status Attend(grpc::ServerContext* context, const v1::AttendRequest* request,
                      v1::AttendResponse* response) override;
  grpc::Status Tokenize(grpc::ServerContext* context, const v1::TokenizeRequest* request,
                        v1::TokenizeResponse* response) override;
  grpc::Status GetModel(grpc::ServerContext* context, const v1::GetModelRequest* request,
                        v1::GetModelResponse* response) override;
  void See(const std::string& method, const grpc::ServerContext& context);

  mutable Mutex mu_;
  std::vector<SeenCall> calls_ ABSL_GUARDED_BY(mu_);
  v1::AttendRequest last_attend_ ABSL_GUARDED_BY(mu_);
};

// Every name has the same state.
class FakeHealth final : public grpc::health::v1::Health::Service {
 public:
  void SetState(HealthState state);
  // Blocks until a Watch has been opened and told its first state.
  void AwaitWatcher();
  bool saw_deadline() const;

 private:
  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;
  grpc::Status Watch(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* writer) override;

  mutable Mutex mu_;
  CondVar changed_;
  HealthState state_ ABSL_GUARDED_BY(mu_) = grpc::health::v1::HealthCheckResponse::SERVING;
  int watchers_ ABSL_GUARDED_BY(mu_) = 0;
  bool saw_deadline_ ABSL_GUARDED_BY(mu_) = false;
};

// RESOURCE_EXHAUSTED, "full", with `reason` in its details.
grpc::Status RefusedFor(const std::string& reason);

class FakeServer {
 public:
  // `with_health` false: a server that has no health service at all.
  explicit FakeServer(bool with_health = true);
  ~FakeServer();

  FakeEncoder& encoder() { return encoder_; }
  FakeHealth& health() { return health_; }
  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  FakeEncoder encoder_;
  FakeHealth health_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_CLIENT_FAKE_SERVER_H_
