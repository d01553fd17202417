#include "server/grpc/stream_encode_call.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "server/codec/stream_codec.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"
#include "server/out_of_memory.h"

namespace attune {

std::shared_ptr<StreamEncodeCall> StreamEncodeCall::Create(grpc::CallbackServerContext& context,
                                                           RequestPipeline& pipeline,
                                                           Options options) {
  auto stream = std::make_shared<StreamEncodeCall>(context, pipeline, std::move(options));
  MutexLock lock(stream->mu_);
  stream->self_ = stream;
  return stream;
}

void StreamEncodeCall::Open() {
  MutexLock lock(mu_);
  Advance();
}

StreamEncodeCall::StreamEncodeCall(grpc::CallbackServerContext& context, RequestPipeline& pipeline,
                                   Options options)
    : context_(context),
      pipeline_(pipeline),
      options_(std::move(options)),
      request_id_(context, *options_.record),
      window_(options_.max_items, options_.max_bytes) {}

void StreamEncodeCall::OnReadDone(bool ok) {
  TakeOver(this);
  Work work = TakeItem(ok);
  if (work.item != nullptr) Encode(std::move(work));
  MutexLock lock(mu_);
  Advance();
}

StreamEncodeCall::Work StreamEncodeCall::TakeItem(bool ok) {
  MutexLock lock(mu_);
  reading_ = false;
  Work work{std::move(next_), {}};
  if (ok) {
    options_.record->AddRequestBytes(static_cast<int64_t>(work.item->request.ByteSizeLong()));
  } else {
    takes_items_ = false;
  }
  if (takes_items_ && !encode_options_.has_value()) {
    end_ = ReadOptions(work.item->request.options());
    takes_items_ = end_.ok();
  }
  if (!takes_items_) return {};

  work.input = *encode_options_;
  Item& item = *work.item;
  const auto text_bytes = static_cast<int64_t>(item.request.text().size());
  item.call =
      std::make_shared<Call>(std::min(options_.deadline, SteadyNow() + options_.max_item_time),
                             options_.client, WorkClass::kBulk, options_.record);
  item.bytes = text_bytes + pipeline_.MostReplyBytes(work.input, text_bytes);
  window_.Enter(item.bytes);
  in_pipeline_.insert(work.item);
  return work;
}

absl::Status StreamEncodeCall::ReadOptions(const v1::EncodeOptions& message) {
  ATTUNE_ASSIGN_OR_RETURN(EncodeInput options, DecodeStreamOptions(message));
  ATTUNE_RETURN_IF_ERROR(pipeline_.CheckStreamOptions(options));
  encode_options_ = std::move(options);
  return absl::OkStatus();
}

void StreamEncodeCall::Encode(Work work) {
  const std::shared_ptr<Item> item = std::move(work.item);
  const absl::Status asked = OrOutOfMemory([&] {
    work.input.texts = {item->request.text()};
    pipeline_.EncodeStreamItem(
        std::move(work.input), item->call,
        [self = shared_from_this(), item](const absl::StatusOr<EncodeReply>& reply) {
          self->TakeAnswer(item, reply);
        });
    return absl::OkStatus();
  });
  if (!asked.ok()) TakeAnswer(item, asked);
}

void StreamEncodeCall::TakeAnswer(const std::shared_ptr<Item>& item,
                                  const absl::StatusOr<EncodeReply>& reply) {
  const auto encode = [&](const absl::StatusOr<EncodeReply>& given) {
    return absl::StatusOr<v1::StreamEncodeResponse>(
        EncodeStreamAnswer(item->request.id(), given, pipeline_.model_info()));
  };
  absl::StatusOr<v1::StreamEncodeResponse> response = OrOutOfMemory([&] { return encode(reply); });
  if (!response.ok()) response = encode(response.status());
  Answer answer{*std::move(response), item->bytes, item->call};
  MutexLock lock(mu_);
  in_pipeline_.erase(item);
  if (!abandoned_) answers_.push_back(std::move(answer));
  Advance();
}

void StreamEncodeCall::OnWriteDone(bool ok) {
  TakeOver(this);
  MutexLock lock(mu_);
  writing_ = false;
  options_.record->WriteWaited(SteadyNow() - write_began_);
  window_.Leave(answers_.front().bytes);
  answers_.pop_front();
  if (!ok) Abandon();
  Advance();
}

void StreamEncodeCall::OnCancel() {
  TakeOver(this);
  MutexLock lock(mu_);
  Abandon();
  Advance();
}

void StreamEncodeCall::OnDone() {
  TakeOver(this);
  options_.on_done(*this);
  std::shared_ptr<StreamEncodeCall> self;
  MutexLock lock(mu_);
  self = std::move(self_);
}

void StreamEncodeCall::EndWith(const absl::Status& reason) {
  MutexLock lock(mu_);
  if (takes_items_) end_ = reason;
  takes_items_ = false;
  Advance();
}

void StreamEncodeCall::CancelIfStalled(absl::Time since) {
  MutexLock lock(mu_);
  if (!writing_ || abandoned_ || write_began_ > since) return;
  Log(LogLevel::kInfo, "stream_stalled", "the client takes no answers; its stream is cancelled",
      {{"request_id", options_.record->origin().request_id},
       {"trace_id", options_.record->origin().trace.trace_id},
       {"span_id", options_.record->origin().trace.span_id},
       {"waiting_seconds", absl::ToDoubleSeconds(SteadyNow() - write_began_)}});
  context_.TryCancel();
}

void StreamEncodeCall::Abandon() {
  abandoned_ = true;
  takes_items_ = false;
  for (const std::shared_ptr<Item>& item : in_pipeline_) item->call->Cancel();
  // The one that is being written is gRPC's until OnWriteDone.
  answers_.resize(writing_ ? 1 : 0);
}

void StreamEncodeCall::Advance() {
  if (finished_) return;
  WriteNext();
  ReadNext();
  FinishIfOver();
}

void StreamEncodeCall::WriteNext() {
  if (writing_ || answers_.empty()) return;
  writing_ = true;
  write_began_ = SteadyNow();
  request_id_.BeforeMessage();
  options_.record->AddResponseBytes(static_cast<int64_t>(answers_.front().response.ByteSizeLong()));
  HandOver(this);
  StartWrite(&answers_.front().response);
}

void StreamEncodeCall::ReadNext() {
  if (reading_ || !takes_items_ || !window_.HasRoom()) return;
  reading_ = true;
  next_ = std::make_shared<Item>();
  HandOver(this);
  StartRead(&next_->request);
}

// A read may still be out when the server ends the stream; what it brings is not looked at.
void StreamEncodeCall::FinishIfOver() {
  if (takes_items_ || writing_ || !answers_.empty() || !in_pipeline_.empty()) return;
  finished_ = true;
  request_id_.BeforeFinish(end_.ok());
  options_.record->Finish(abandoned_ ? absl::CancelledError("the client takes no more") : end_);
  HandOver(this);
  Finish(EndOfCall(end_, context_));
}

}  // namespace attune
