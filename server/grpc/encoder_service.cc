#include "server/grpc/encoder_service.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/clock.h"
#include "engine/base/status_macros.h"
#include "server/encoder_methods.h"
#include "server/grpc/attention_stream_call.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/ended_stream.h"
#include "server/grpc/head_statistics_call.h"
#include "server/grpc/reactor_order.h"
#include "server/grpc/unary_call.h"
#include "server/out_of_memory.h"
#include "server/peer_client.h"

namespace attune {
namespace {

// gRPC tells it by the wall clock. "No deadline" is one centuries away.
absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  return absl::FromChrono(context.deadline()) - WallClockAhead();
}

}  // namespace

EncoderService::EncoderService(CallGate& gate, CallMonitor& monitor,
                               const Authenticator& authenticator, const ServerOptions& options)
    : gate_(gate),
      monitor_(monitor),
      authenticator_(authenticator),
      options_(options),
      streams_(options.stream_stall_timeout),
      attention_places_(options.max_attention_streams) {
  HandOver(this);
}

void EncoderService::EndStreams(const absl::Status& reason) { streams_.EndAll(reason); }

template <typename Request, typename Response>
grpc::ServerUnaryReactor* EncoderService::StartCall(RpcMethod method,
                                                    grpc::CallbackServerContext& context,
                                                    const Request& request, Response& response) {
  TakeOver(this);
  gate_.Enter();
  std::shared_ptr<CallRecord> record = BeginCall(monitor_, method, context);
  record->AddRequestBytes(static_cast<int64_t>(request.ByteSizeLong()));
  const absl::Time deadline = std::min(DeadlineOf(context), SteadyNow() + options_.max_deadline);
  auto* call = new UnaryCall(gate_, context, deadline, ClientOf(context), std::move(record));
  const absl::StatusOr<std::shared_ptr<const Backend>> backend = gate_.backend();
  if (!backend.ok()) {
    call->Answer(backend.status());
    return call;
  }
  call->Hold(*backend);
  const auto answer = [call, &response](const absl::Status& status) {
    if (status.ok()) {
      call->call()->record()->AddResponseBytes(static_cast<int64_t>(response.ByteSizeLong()));
    }
    call->Answer(status);
  };
  const absl::Status started = OrOutOfMemory([&]() -> absl::Status {
    const auto bytes = static_cast<int64_t>(request.SpaceUsedLong());
    ATTUNE_RETURN_IF_ERROR((*backend)->pipeline->Hold(bytes, *call->call()));
    RunMethod(**backend, call->call(), request, response, answer);
    return absl::OkStatus();
  });
  if (!started.ok()) call->Answer(started);
  return call;
}

grpc::ServerUnaryReactor* EncoderService::Encode(grpc::CallbackServerContext* context,
                                                 const v1::EncodeRequest* request,
                                                 v1::EncodeResponse* response) {
  return StartCall(RpcMethod::kEncode, *context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::AttentionMap(grpc::CallbackServerContext* context,
                                                       const v1::AttentionMapRequest* request,
                                                       v1::AttentionMapResponse* response) {
  return StartCall(RpcMethod::kAttentionMap, *context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::ExplainSimilarity(
    grpc::CallbackServerContext* context, const v1::ExplainSimilarityRequest* request,
    v1::ExplainSimilarityResponse* response) {
  return StartCall(RpcMethod::kExplainSimilarity, *context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::Attend(grpc::CallbackServerContext* context,
                                                 const v1::AttendRequest* request,
                                                 v1::AttendResponse* response) {
  return StartCall(RpcMethod::kAttend, *context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::Tokenize(grpc::CallbackServerContext* context,
                                                   const v1::TokenizeRequest* request,
                                                   v1::TokenizeResponse* response) {
  return StartCall(RpcMethod::kTokenize, *context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::GetModel(grpc::CallbackServerContext* context,
                                                   const v1::GetModelRequest* request,
                                                   v1::GetModelResponse* response) {
  return StartCall(RpcMethod::kGetModel, *context, *request, *response);
}

std::string EncoderService::ClientOf(const grpc::CallbackServerContext& context) const {
  if (!authenticator_.asks_for_tokens()) return ClientOfPeer(context.peer());
  std::vector<absl::string_view> authorization;
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  for (auto entry = begin; entry != end; ++entry) {
    authorization.emplace_back(entry->second.data(), entry->second.size());
  }
  // Calls without a token have been refused before they got here.
  const absl::StatusOr<std::string> holder = authenticator_.Authenticate(authorization);
  return holder.ok() && !holder->empty() ? *holder : ClientOfPeer(context.peer());
}

StreamEncodeCall::Options EncoderService::StreamOptions(const grpc::CallbackServerContext& context,
                                                        std::shared_ptr<const Backend> backend) {
  StreamEncodeCall::Options options;
  options.max_items = options_.max_parallel_per_stream;
  options.max_bytes = options_.max_message_bytes;
  options.deadline = DeadlineOf(context);
  options.max_item_time = options_.max_deadline;
  options.client = ClientOf(context);
  options.on_done = StreamOver(std::move(backend));
  return options;
}

std::function<void(OpenStream&)> EncoderService::StreamOver(
    std::shared_ptr<const Backend> backend) {
  return [this, backend = std::move(backend)](OpenStream& stream) {
    streams_.Remove(stream);
    gate_.Leave();
  };
}

template <typename Reactor, typename Start>
Reactor* EncoderService::StartStream(RpcMethod method, grpc::CallbackServerContext& context,
                                     Start start) {
  TakeOver(this);
  gate_.Enter();
  const std::shared_ptr<CallRecord> record = BeginCall(monitor_, method, context);
  const auto end = [&](const absl::Status& status) {
    gate_.Leave();
    return new EndedStream<Reactor>(context, *record, status);
  };
  const absl::StatusOr<std::shared_ptr<const Backend>> backend = gate_.backend();
  if (!backend.ok()) return end(backend.status());
  const auto started = start(*backend, record);
  if (!started.ok()) return end(started.status());
  const auto& stream = *started;
  streams_.Add(*stream);
  // The gate may have closed, and the open streams been ended, before this one was among them.
  const absl::Status refusal = gate_.backend().status();
  if (!refusal.ok()) stream->EndWith(refusal);
  stream->Open();
  return stream.get();
}

grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>*
EncoderService::StreamEncode(grpc::CallbackServerContext* context) {
  using Reactor = grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>;
  const auto start = [&](const std::shared_ptr<const Backend>& backend,
                         const std::shared_ptr<CallRecord>& record)
      -> absl::StatusOr<std::shared_ptr<StreamEncodeCall>> {
    StreamEncodeCall::Options options = StreamOptions(*context, backend);
    options.record = record;
    return StreamEncodeCall::Create(*context, *backend->pipeline, std::move(options));
  };
  return StartStream<Reactor>(RpcMethod::kStreamEncode, *context, start);
}

grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>* EncoderService::StreamAttentionMap(
    grpc::CallbackServerContext* context, const v1::StreamAttentionMapRequest* request) {
  using Reactor = grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>;
  const auto start = [&](const std::shared_ptr<const Backend>& backend,
                         const std::shared_ptr<CallRecord>& record)
      -> absl::StatusOr<std::shared_ptr<AttentionStreamCall>> {
    ATTUNE_ASSIGN_OR_RETURN(StreamPlaces::Place place, attention_places_.Take());
    auto call = std::make_shared<Call>(DeadlineOf(*context), ClientOf(*context),
                                       WorkClass::kInteractive, record);
    return AttentionStreamCall::Create(*context, *request, *backend->pipeline, *backend->tokenizer,
                                       std::move(call), std::move(place), StreamOver(backend));
  };
  return StartStream<Reactor>(RpcMethod::kStreamAttentionMap, *context, start);
}

grpc::ServerReadReactor<v1::HeadStatisticsRequest>* EncoderService::HeadStatistics(
    grpc::CallbackServerContext* context, v1::HeadStatisticsResponse* response) {
  using Reactor = grpc::ServerReadReactor<v1::HeadStatisticsRequest>;
  const auto start = [&](const std::shared_ptr<const Backend>& backend,
                         const std::shared_ptr<CallRecord>& record)
      -> absl::StatusOr<std::shared_ptr<HeadStatisticsCall>> {
    HeadStatisticsCall::Options options;
    options.deadline = DeadlineOf(*context);
    options.max_item_time = options_.max_deadline;
    options.client = ClientOf(*context);
    options.record = record;
    options.on_done = StreamOver(backend);
    return HeadStatisticsCall::Create(*context, *backend->pipeline, *response, std::move(options));
  };
  return StartStream<Reactor>(RpcMethod::kHeadStatistics, *context, start);
}

}  // namespace attune
