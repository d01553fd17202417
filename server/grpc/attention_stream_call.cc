#include "server/grpc/attention_stream_call.h"

#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/crc32c.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "server/codec/attention_codec.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"
#include "server/out_of_memory.h"

namespace attune {

std::shared_ptr<AttentionStreamCall> AttentionStreamCall::Create(
    grpc::CallbackServerContext& context, const v1::StreamAttentionMapRequest& request,
    RequestPipeline& pipeline, const Tokenizer& tokenizer, std::shared_ptr<Call> call,
    StreamPlaces::Place place, OnOver on_over) {
  call->record()->AddRequestBytes(static_cast<int64_t>(request.ByteSizeLong()));
  auto stream = std::make_shared<AttentionStreamCall>(
      context, request, pipeline, tokenizer, std::move(call), std::move(place), std::move(on_over));
  MutexLock lock(stream->mu_);
  stream->self_ = stream;
  HandOver(stream.get());
  return stream;
}

AttentionStreamCall::AttentionStreamCall(grpc::CallbackServerContext& context,
                                         const v1::StreamAttentionMapRequest& request,
                                         RequestPipeline& pipeline, const Tokenizer& tokenizer,
                                         std::shared_ptr<Call> call, StreamPlaces::Place place,
                                         OnOver on_over)
    : context_(context),
      request_(request),
      pipeline_(pipeline),
      tokenizer_(tokenizer),
      call_(std::move(call)),
      on_over_(std::move(on_over)),
      place_(std::move(place)),
      request_id_(context, *call_->record()) {}

void AttentionStreamCall::Open() {
  const absl::Status asked = OrOutOfMemory([this] { return AskForStream(); });
  if (!asked.ok()) TakeStream(asked);
}

absl::Status AttentionStreamCall::AskForStream() {
  ATTUNE_ASSIGN_OR_RETURN(AttentionInput input, DecodeAttentionQuery(request_.query()));
  ATTUNE_RETURN_IF_ERROR(pipeline_.Hold(static_cast<int64_t>(request_.SpaceUsedLong()), *call_));
  pipeline_.OpenAttentionStream(
      std::move(input), call_,
      [self = shared_from_this()](absl::StatusOr<std::shared_ptr<AttentionStream>> stream) {
        self->TakeStream(std::move(stream));
      });
  return absl::OkStatus();
}

void AttentionStreamCall::TakeStream(absl::StatusOr<std::shared_ptr<AttentionStream>> stream) {
  MutexLock lock(mu_);
  if (!stream.ok()) return End(stream.status());
  stream_ = *std::move(stream);
  v1::AttentionMapResponse& header = *message_.mutable_header();
  EncodeAttentionReply(stream_->reply(), tokenizer_, pipeline_.model_info(), header);
  EchoAttentionQuery(request_.query(), header);
  Write();
}

void AttentionStreamCall::Advance() {
  try {
    SendMore();
  } catch (const std::bad_alloc&) {
    MutexLock lock(mu_);
    End(OutOfMemory());
  }
}

void AttentionStreamCall::SendMore() {
  std::shared_ptr<AttentionStream> stream;
  {
    MutexLock lock(mu_);
    if (trailer_sent_) return End(absl::OkStatus());
    if (chunks_.has_value() && !chunks_->done()) return WriteChunk();
    chunks_.reset();
    stream = stream_;
  }
  // May answer before it returns.
  stream->Next([self = shared_from_this()](absl::StatusOr<AttentionStream::Part> part) {
    self->TakePart(std::move(part));
  });
}

void AttentionStreamCall::TakePart(absl::StatusOr<AttentionStream::Part> part) {
  {
    MutexLock lock(mu_);
    if (!part.ok()) return End(part.status());
    if (!part->layer.has_value()) return WriteTrailer();
    chunks_.emplace(stream_->reply().plan, *part->layer, std::move(part->maps));
  }
  Advance();
}

void AttentionStreamCall::WriteChunk() {
  *message_.mutable_chunk() = chunks_->Next();
  ++chunks_sent_;
  rows_sent_ += message_.chunk().rows();
  crc32c_ = ExtendCrc32c(crc32c_, message_.chunk().data());
  Write();
}

void AttentionStreamCall::WriteTrailer() {
  v1::AttentionTrailer& trailer = *message_.mutable_trailer();
  EncodeAttentionTrailer(stream_->reply(), trailer);
  trailer.set_chunks(chunks_sent_);
  trailer.set_rows(rows_sent_);
  trailer.set_crc32c(crc32c_);
  trailer_sent_ = true;
  Write();
}

void AttentionStreamCall::Write() {
  writing_ = true;
  write_began_ = SteadyNow();
  request_id_.BeforeMessage();
  call_->record()->AddResponseBytes(static_cast<int64_t>(message_.ByteSizeLong()));
  HandOver(this);
  StartWrite(&message_);
}

void AttentionStreamCall::OnWriteDone(bool ok) {
  TakeOver(this);
  {
    MutexLock lock(mu_);
    writing_ = false;
    call_->record()->WriteWaited(SteadyNow() - write_began_);
    message_.Clear();
    if (!ok) return End(absl::CancelledError("the client takes no more"));
  }
  Advance();
}

void AttentionStreamCall::End(const absl::Status& status) {
  if (finished_) return;
  finished_ = true;
  place_.reset();
  request_id_.BeforeFinish(status.ok());
  call_->record()->Finish(status);
  HandOver(this);
  Finish(EndOfCall(status, context_));
}

// What is under way sees it, and ends the stream: a layer at its next step, a write by failing.
void AttentionStreamCall::OnCancel() {
  TakeOver(this);
  call_->Cancel();
  HandOver(this);
}

void AttentionStreamCall::CancelIfStalled(absl::Time since) {
  MutexLock lock(mu_);
  if (!writing_ || write_began_ > since) return;
  Log(LogLevel::kInfo, "stream_stalled", "the client takes no layers; its stream is cancelled",
      {{"request_id", call_->record()->origin().request_id},
       {"trace_id", call_->record()->origin().trace.trace_id},
       {"span_id", call_->record()->origin().trace.span_id},
       {"waiting_seconds", absl::ToDoubleSeconds(SteadyNow() - write_began_)}});
  context_.TryCancel();
}

void AttentionStreamCall::OnDone() {
  TakeOver(this);
  on_over_(*this);
  std::shared_ptr<AttentionStreamCall> self;
  MutexLock lock(mu_);
  self = std::move(self_);
}

}  // namespace attune
