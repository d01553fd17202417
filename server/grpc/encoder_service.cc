#include "server/grpc/encoder_service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/status_macros.h"
#include "server/codec/attend_codec.h"
#include "server/codec/attention_codec.h"
#include "server/codec/codec_fields.h"
#include "server/codec/encode_codec.h"
#include "server/codec/model_codec.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"
#include "server/grpc/unary_call.h"

namespace attune {
namespace {

grpc::Status RpcNotBuilt(absl::string_view rpc) { return ToGrpcStatus(NotBuilt(rpc)); }

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

EncoderService::EncoderService(const ServerOptions& options)
    : options_(options), streams_(options.stream_stall_timeout) {
  HandOver(this);
}

void EncoderService::Serve(RequestPipeline* pipeline, const Tokenizer* tokenizer) {
  MutexLock lock(mu_);
  backend_ = {pipeline, tokenizer};
  refusal_ = absl::OkStatus();
}

void EncoderService::Refuse(absl::Status reason) {
  {
    MutexLock lock(mu_);
    refusal_ = reason;
  }
  // A stream that is not among them sees the refusal when it opens.
  streams_.EndAll(reason);
}

bool EncoderService::WaitIdle(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  MutexLock lock(mu_);
  while (calls_ > 0) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    idle_.WaitFor(mu_, left);
  }
  return true;
}

absl::Time EncoderService::last_arrival() {
  MutexLock lock(mu_);
  return last_arrival_;
}

UnaryCall* EncoderService::NewCall(const grpc::CallbackServerContext& context) {
  TakeOver(this);
  const absl::Time now = absl::Now();
  // "No deadline" arrives as one centuries away.
  const absl::Time deadline =
      std::min(absl::FromChrono(context.deadline()), now + options_.max_deadline);
  {
    MutexLock lock(mu_);
    ++calls_;
    last_arrival_ = now;
  }
  return new UnaryCall(*this, deadline);
}

void EncoderService::CallEnded() {
  MutexLock lock(mu_);
  if (--calls_ == 0) idle_.NotifyAll();
}

absl::StatusOr<EncoderService::Backend> EncoderService::GetBackend() {
  MutexLock lock(mu_);
  if (!refusal_.ok()) return refusal_;
  return backend_;
}

template <typename Start>
grpc::ServerUnaryReactor* EncoderService::StartCall(const grpc::CallbackServerContext& context,
                                                    Start start) {
  UnaryCall* call = NewCall(context);
  const absl::StatusOr<Backend> backend = GetBackend();
  const absl::Status started = backend.ok() ? start(call, *backend) : backend.status();
  if (!started.ok()) call->Answer(started);
  return call;
}

grpc::ServerUnaryReactor* EncoderService::Encode(grpc::CallbackServerContext* context,
                                                 const v1::EncodeRequest* request,
                                                 v1::EncodeResponse* response) {
  return StartCall(*context, [=](UnaryCall* call, const Backend& backend) -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(EncodeInput input, DecodeEncodeRequest(*request));
    const ModelInfo& model = backend.pipeline->model_info();
    backend.pipeline->Encode(std::move(input), call->call(),
                             [call, response, &model](const absl::StatusOr<EncodeReply>& reply) {
                               if (reply.ok()) EncodeEncodeReply(*reply, model, *response);
                               call->Answer(reply.status());
                             });
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* EncoderService::AttentionMap(grpc::CallbackServerContext* context,
                                                       const v1::AttentionMapRequest* request,
                                                       v1::AttentionMapResponse* response) {
  return StartCall(*context, [=](UnaryCall* call, const Backend& backend) -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(AttentionInput input, DecodeAttentionQuery(request->query()));
    backend.pipeline->MapAttention(std::move(input), call->call(),
                                   [call, response, backend](absl::StatusOr<AttentionReply> reply) {
                                     const absl::Status status = reply.status();
                                     if (status.ok()) {
                                       EncodeAttentionReply(*std::move(reply), *backend.tokenizer,
                                                            backend.pipeline->model_info(),
                                                            *response);
                                     }
                                     call->Answer(status);
                                   });
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* EncoderService::Attend(grpc::CallbackServerContext* context,
                                                 const v1::AttendRequest* request,
                                                 v1::AttendResponse* response) {
  return StartCall(*context, [=](UnaryCall* call, const Backend& backend) -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(AttendInput input, DecodeAttendRequest(*request));
    backend.pipeline->Attend(std::make_shared<const AttendInput>(std::move(input)), call->call(),
                             [call, response](const absl::StatusOr<AttendResult>& result) {
                               if (result.ok()) EncodeAttendReply(*result, *response);
                               call->Answer(result.status());
                             });
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* EncoderService::Tokenize(grpc::CallbackServerContext* context,
                                                   const v1::TokenizeRequest* request,
                                                   v1::TokenizeResponse* response) {
  return StartCall(*context, [=](UnaryCall* call, const Backend& backend) -> absl::Status {
    ATTUNE_ASSIGN_OR_RETURN(TokenizeInput input, DecodeTokenizeRequest(*request));
    backend.pipeline->Tokenize(std::move(input), call->call(),
                               [call, response, tokenizer = backend.tokenizer](
                                   const absl::StatusOr<TokenizeReply>& reply) {
                                 if (reply.ok()) EncodeTokenizeReply(*reply, *tokenizer, *response);
                                 call->Answer(reply.status());
                               });
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* EncoderService::GetModel(grpc::CallbackServerContext* context,
                                                   const v1::GetModelRequest* /*request*/,
                                                   v1::GetModelResponse* response) {
  return StartCall(*context, [=](UnaryCall* call, const Backend& backend) {
    EncodeModelInfo(backend.pipeline->model_info(), *response);
    call->Answer(absl::OkStatus());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* EncoderService::ExplainSimilarity(
    grpc::CallbackServerContext* context, const v1::ExplainSimilarityRequest* /*request*/,
    v1::ExplainSimilarityResponse* /*response*/) {
  return StartCall(*context, [](UnaryCall* /*call*/, const Backend& /*backend*/) {
    return NotBuilt("ExplainSimilarity");
  });
}

StreamEncodeCall::Options EncoderService::StreamOptions(
    const grpc::CallbackServerContext& context) {
  StreamEncodeCall::Options options;
  options.max_items = options_.max_parallel_per_stream;
  options.max_bytes = options_.max_message_bytes;
  options.deadline = absl::FromChrono(context.deadline());
  options.max_item_time = options_.max_deadline;
  options.on_done = [this](OpenStream& stream) {
    streams_.Remove(stream);
    CallEnded();
  };
  return options;
}

grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>*
EncoderService::StreamEncode(grpc::CallbackServerContext* context) {
  using Reactor = grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>;
  TakeOver(this);
  // Held until the stream is among the open ones, so that Refuse misses none.
  MutexLock lock(mu_);
  last_arrival_ = absl::Now();
  if (!refusal_.ok()) return new EndedStream<Reactor>(ToGrpcStatus(refusal_));
  ++calls_;
  const std::shared_ptr<StreamEncodeCall> stream =
      StreamEncodeCall::Start(*context, *backend_.pipeline, StreamOptions(*context));
  streams_.Add(*stream);
  return stream.get();
}

grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>* EncoderService::StreamAttentionMap(
    grpc::CallbackServerContext* /*context*/, const v1::StreamAttentionMapRequest* /*request*/) {
  using Reactor = grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>;
  return new EndedStream<Reactor>(RpcNotBuilt("StreamAttentionMap"));
}

grpc::ServerReadReactor<v1::HeadStatisticsRequest>* EncoderService::HeadStatistics(
    grpc::CallbackServerContext* /*context*/, v1::HeadStatisticsResponse* /*response*/) {
  using Reactor = grpc::ServerReadReactor<v1::HeadStatisticsRequest>;
  return new EndedStream<Reactor>(RpcNotBuilt("HeadStatistics"));
}

}  // namespace attune
