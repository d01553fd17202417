#include "tests/client/fake_server.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/server_builder.h"
#include "tests/client/attention_parts.h"

namespace attune::testing {
namespace {

// How often a watch looks whether its caller has gone.
constexpr absl::Duration kWatchPoll = absl::Milliseconds(10);
constexpr uint64_t kMaxMessageBytes = 4 << 20;
constexpr uint32_t kTrainedTokens = 256;

bool HasDeadline(const grpc::ServerContext& context) {
  // gRPC shows the absence of a deadline as one that is centuries away.
  return context.deadline() < std::chrono::system_clock::now() + std::chrono::hours(24 * 365);
}

void Embed(size_t length, uint32_t first, const v1::EncodeOptions& options,
           v1::EncodeResponse& response) {
  v1::Embedding* embedding = response.add_embeddings();
  const uint32_t limit = options.has_max_tokens() ? options.max_tokens() : 1'000'000;
  const uint32_t tokens = std::min(static_cast<uint32_t>(length), limit);
  embedding->set_tokens(tokens);
  embedding->set_truncated(tokens < length);
  embedding->set_beyond_trained_length(tokens > kTrainedTokens);
  const uint32_t vectors = options.pooling() == v1::POOLING_NONE ? tokens : 1;
  for (uint32_t i = 0; i < vectors; ++i) {
    embedding->add_values(static_cast<float>(length));
    embedding->add_values(static_cast<float>(first));
    embedding->add_values(1);
    embedding->add_values(0);
  }
}

}  // namespace

grpc::Status FakeEncoder::DefaultEncode(const v1::EncodeRequest& request,
                                        v1::EncodeResponse& response) {
  response.set_dimension(kDimension);
  response.set_model("fake");
  std::vector<std::string> texts(request.texts().values().begin(), request.texts().values().end());
  for (const v1::TextPair& pair : request.text_pairs().values()) {
    texts.push_back(pair.first() + pair.second());
  }
  for (const std::string& text : texts) {
    const uint32_t first = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
    Embed(text.size(), first, request.options(), response);
  }
  for (const v1::TokenIds& ids : request.token_ids().values()) {
    Embed(static_cast<size_t>(ids.values_size()), ids.values(0), request.options(), response);
  }
  return grpc::Status::OK;
}

v1::GetModelResponse FakeEncoder::DefaultModel() {
  v1::GetModelResponse model;
  model.set_name("fake");
  model.set_hidden(kDimension);
  model.set_dimension(kDimension);
  model.set_max_tokens(256);
  model.set_trained_max_tokens(kTrainedTokens);
  model.add_pooling("mean");
  model.mutable_limits()->set_max_message_bytes(kMaxMessageBytes);
  model.mutable_limits()->set_max_texts(2048);
  return model;
}

void FakeEncoder::See(const std::string& method, const grpc::ServerContext& context) {
  MutexLock lock(mu_);
  calls_.push_back({.method = method, .has_deadline = HasDeadline(context)});
}

std::vector<SeenCall> FakeEncoder::calls() const {
  MutexLock lock(mu_);
  return calls_;
}

size_t FakeEncoder::CountCalls(const std::string& method) const {
  const std::vector<SeenCall> seen = calls();
  return static_cast<size_t>(std::count_if(
      seen.begin(), seen.end(), [&](const SeenCall& call) { return call.method == method; }));
}

v1::AttendRequest FakeEncoder::last_attend() const {
  MutexLock lock(mu_);
  return last_attend_;
}

grpc::Status FakeEncoder::Encode(grpc::ServerContext* context, const v1::EncodeRequest* request,
                                 v1::EncodeResponse* response) {
  See("Encode", *context);
  return encode ? encode(*context, *request, *response) : DefaultEncode(*request, *response);
}

grpc::Status FakeEncoder::AttentionMap(grpc::ServerContext* context,
                                       const v1::AttentionMapRequest* request,
                                       v1::AttentionMapResponse* response) {
  See("AttentionMap", *context);
  return attention ? attention(*request, *response) : grpc::Status::OK;
}

grpc::Status FakeEncoder::StreamAttentionMap(grpc::ServerContext* context,
                                             const v1::StreamAttentionMapRequest* request,
                                             StreamWriter* writer) {
  See("StreamAttentionMap", *context);
  if (attention_stream) return attention_stream(request->query(), *writer);
  for (const auto& part : StreamParts({}, 1)) writer->Write(part);
  return grpc::Status::OK;
}

grpc::Status FakeEncoder::HeadStatistics(grpc::ServerContext* context, TextReader* reader,
                                         v1::HeadStatisticsResponse* response) {
  See("HeadStatistics", *context);
  if (head_statistics) return head_statistics(*context, *reader, *response);
  v1::HeadStatisticsRequest request;
  while (reader->Read(&request)) response->set_texts(response->texts() + 1);
  return grpc::Status::OK;
}

grpc::Status FakeEncoder::Attend(grpc::ServerContext* context, const v1::AttendRequest* request,
                                 v1::AttendResponse* response) {
  See("Attend", *context);
  *response = attend_response;
  MutexLock lock(mu_);
  last_attend_ = *request;
  return grpc::Status::OK;
}

grpc::Status FakeEncoder::Tokenize(grpc::ServerContext* context, const v1::TokenizeRequest* request,
                                   v1::TokenizeResponse* response) {
  See("Tokenize", *context);
  return tokenize ? tokenize(*request, *response) : grpc::Status::OK;
}

grpc::Status FakeEncoder::GetModel(grpc::ServerContext* context, const v1::GetModelRequest*,
                                   v1::GetModelResponse* response) {
  See("GetModel", *context);
  *response = model;
  return grpc::Status::OK;
}

void FakeHealth::SetState(HealthState state) {
  MutexLock lock(mu_);
  state_ = state;
  changed_.NotifyAll();
}

void FakeHealth::AwaitWatcher() {
  MutexLock lock(mu_);
  while (watchers_ == 0) changed_.Wait(mu_);
}

bool FakeHealth::saw_deadline() const {
  MutexLock lock(mu_);
  return saw_deadline_;
}

grpc::Status FakeHealth::Check(grpc::ServerContext* context,
                               const grpc::health::v1::HealthCheckRequest*,
                               grpc::health::v1::HealthCheckResponse* response) {
  MutexLock lock(mu_);
  saw_deadline_ = HasDeadline(*context);
  response->set_status(state_);
  return grpc::Status::OK;
}

grpc::Status FakeHealth::Watch(grpc::ServerContext* context,
                               const grpc::health::v1::HealthCheckRequest*,
                               grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* writer) {
  grpc::health::v1::HealthCheckResponse sent;
  bool first = true;
  while (!context->IsCancelled()) {
    HealthState state;
    {
      MutexLock lock(mu_);
      state = state_;
    }
    if (first || state != sent.status()) {
      sent.set_status(state);
      if (!writer->Write(sent)) break;
    }
    MutexLock lock(mu_);
    if (first) ++watchers_;
    first = false;
    changed_.NotifyAll();
    if (state_ == state) changed_.WaitFor(mu_, kWatchPoll);
  }
  return grpc::Status::OK;
}

grpc::Status RefusedFor(const std::string& reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  google::rpc::Status details;
  details.set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
  details.add_details()->PackFrom(info);
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "full", details.SerializeAsString()};
}

FakeServer::FakeServer(bool with_health) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(&encoder_);
  if (with_health) builder.RegisterService(&health_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) std::abort();
}

FakeServer::~FakeServer() {
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
}

}  // namespace attune::testing
