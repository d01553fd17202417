#include "server/grpc/encoder_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "server/encoder_methods.h"
#include "server/grpc/attention_stream_call.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/head_statistics_call.h"
#include "server/grpc/peer_client.h"
#include "server/grpc/reactor_order.h"
#include "server/grpc/unary_call.h"

namespace attune {
namespace {

// Ends a streaming call at once.
template <typename Reactor>
class EndedStream final : public Reactor {
 public:
  explicit EndedStream(grpc::Status status) {
    HandOver(this);
    this->Finish(std::move(status));
  }
  void OnDone() override {
    TakeOver(this);
    delete this;
  }
};

}  // namespace

EncoderService::EncoderService(CallGate& gate, const ServerOptions& options)
    : gate_(gate), options_(options), streams_(options.stream_stall_timeout) {
  HandOver(this);
}

void EncoderService::EndStreams(const absl::Status& reason) { streams_.EndAll(reason); }

template <typename Request, typename Response>
grpc::ServerUnaryReactor* EncoderService::StartCall(grpc::CallbackServerContext& context,
                                                    const Request& request, Response& response) {
  TakeOver(this);
  gate_.Enter();
  // "No deadline" arrives as one centuries away.
  const absl::Time deadline =
      std::min(absl::FromChrono(context.deadline()), absl::Now() + options_.max_deadline);
  auto* call = new UnaryCall(gate_, context, deadline, ClientOfPeer(context.peer()));
  const absl::StatusOr<Backend> backend = gate_.backend();
  if (!backend.ok()) {
    call->Answer(backend.status());
    return call;
  }
  RunMethod(*backend, call->call(), request, response,
            [call](const absl::Status& status) { call->Answer(status); });
  return call;
}

grpc::ServerUnaryReactor* EncoderService::Encode(grpc::CallbackServerContext* context,
                                                 const v1::EncodeRequest* request,
                                                 v1::EncodeResponse* response) {
  return StartCall(*context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::AttentionMap(grpc::CallbackServerContext* context,
                                                       const v1::AttentionMapRequest* request,
                                                       v1::AttentionMapResponse* response) {
  return StartCall(*context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::ExplainSimilarity(
    grpc::CallbackServerContext* context, const v1::ExplainSimilarityRequest* request,
    v1::ExplainSimilarityResponse* response) {
  return StartCall(*context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::Attend(grpc::CallbackServerContext* context,
                                                 const v1::AttendRequest* request,
                                                 v1::AttendResponse* response) {
  return StartCall(*context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::Tokenize(grpc::CallbackServerContext* context,
                                                   const v1::TokenizeRequest* request,
                                                   v1::TokenizeResponse* response) {
  return StartCall(*context, *request, *response);
}

grpc::ServerUnaryReactor* EncoderService::GetModel(grpc::CallbackServerContext* context,
                                                   const v1::GetModelRequest* request,
                                                   v1::GetModelResponse* response) {
  return StartCall(*context, *request, *response);
}

StreamEncodeCall::Options EncoderService::StreamOptions(
    const grpc::CallbackServerContext& context) {
  StreamEncodeCall::Options options;
  options.max_items = options_.max_parallel_per_stream;
  options.max_bytes = options_.max_message_bytes;
  options.deadline = absl::FromChrono(context.deadline());
  options.max_item_time = options_.max_deadline;
  options.client = ClientOfPeer(context.peer());
  options.on_done = StreamOver();
  return options;
}

std::function<void(OpenStream&)> EncoderService::StreamOver() {
  return [this](OpenStream& stream) {
    streams_.Remove(stream);
    gate_.Leave();
  };
}

template <typename Reactor, typename Start>
Reactor* EncoderService::StartStream(grpc::CallbackServerContext& context, Start start) {
  TakeOver(this);
  gate_.Enter();
  const absl::StatusOr<Backend> backend = gate_.backend();
  if (!backend.ok()) {
    gate_.Leave();
    return new EndedStream<Reactor>(EndOfCall(backend.status(), context));
  }
  const auto stream = start(*backend);
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
  return StartStream<Reactor>(*context, [&](const Backend& backend) {
    return StreamEncodeCall::Create(*context, *backend.pipeline, StreamOptions(*context));
  });
}

grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>* EncoderService::StreamAttentionMap(
    grpc::CallbackServerContext* context, const v1::StreamAttentionMapRequest* request) {
  using Reactor = grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>;
  return StartStream<Reactor>(*context, [&](const Backend& backend) {
    auto call = std::make_shared<Call>(absl::FromChrono(context->deadline()),
                                       ClientOfPeer(context->peer()));
    return AttentionStreamCall::Create(*context, *request, *backend.pipeline, *backend.tokenizer,
                                       std::move(call), StreamOver());
  });
}

grpc::ServerReadReactor<v1::HeadStatisticsRequest>* EncoderService::HeadStatistics(
    grpc::CallbackServerContext* context, v1::HeadStatisticsResponse* response) {
  using Reactor = grpc::ServerReadReactor<v1::HeadStatisticsRequest>;
  HeadStatisticsCall::Options options;
  options.deadline = absl::FromChrono(context->deadline());
  options.max_item_time = options_.max_deadline;
  options.client = ClientOfPeer(context->peer());
  options.on_done = StreamOver();
  return StartStream<Reactor>(*context, [&](const Backend& backend) {
    return HeadStatisticsCall::Create(*context, *backend.pipeline, *response, std::move(options));
  });
}

}  // namespace attune
