#include "server/grpc/head_statistics_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/clock.h"
#include "engine/base/status_macros.h"
#include "server/codec/attention_codec.h"
#include "server/error_details.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"
#include "server/out_of_memory.h"

namespace attune {

std::shared_ptr<HeadStatisticsCall> HeadStatisticsCall::Create(grpc::CallbackServerContext& context,
                                                               RequestPipeline& pipeline,
                                                               v1::HeadStatisticsResponse& response,
                                                               Options options) {
  auto stream =
      std::make_shared<HeadStatisticsCall>(context, pipeline, response, std::move(options));
  MutexLock lock(stream->mu_);
  stream->self_ = stream;
  return stream;
}

void HeadStatisticsCall::Open() {
  MutexLock lock(mu_);
  Advance();
}

void HeadStatisticsCall::OnReadDone(bool ok) {
  TakeOver(this);
  if (TakeText(ok)) return Compute();
  MutexLock lock(mu_);
  Advance();
}

bool HeadStatisticsCall::TakeText(bool ok) {
  MutexLock lock(mu_);
  reading_ = false;
  if (!ok) takes_texts_ = false;
  if (!takes_texts_) return false;
  computing_ = true;
  options_.record->AddRequestBytes(static_cast<int64_t>(request_.ByteSizeLong()));
  call_ = std::make_shared<Call>(std::min(options_.deadline, SteadyNow() + options_.max_item_time),
                                 options_.client, WorkClass::kBulk, options_.record);
  return true;
}

void HeadStatisticsCall::Compute() {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(mu_);
    call = call_;
  }
  const absl::Status asked = OrOutOfMemory([&] { return AskForMaps(call); });
  if (!asked.ok()) TakeReply(asked);
}

absl::Status HeadStatisticsCall::AskForMaps(const std::shared_ptr<Call>& call) {
  ATTUNE_ASSIGN_OR_RETURN(AttentionInput input, DecodeStatisticsText(request_));
  ATTUNE_RETURN_IF_ERROR(pipeline_.Hold(static_cast<int64_t>(request_.SpaceUsedLong()), *call));
  pipeline_.MapAttention(std::move(input), call,
                         [self = shared_from_this()](absl::StatusOr<AttentionReply> reply) {
                           self->TakeReply(reply);
                         });
  return absl::OkStatus();
}

void HeadStatisticsCall::TakeReply(const absl::StatusOr<AttentionReply>& reply) {
  MutexLock lock(mu_);
  computing_ = false;
  if (reply.ok()) {
    aggregate_.Add(reply->result.statistics);
    tokens_ += reply->encoding.size();
  } else if (end_.ok()) {
    takes_texts_ = false;
    end_ = WithMessage(reply.status(),
                       absl::StrCat("text ", aggregate_.texts(), ": ", reply.status().message()));
  }
  Advance();
}

void HeadStatisticsCall::OnCancel() {
  TakeOver(this);
  MutexLock lock(mu_);
  takes_texts_ = false;
  if (end_.ok()) end_ = absl::CancelledError("the caller went away");
  if (call_ != nullptr) call_->Cancel();
  Advance();
}

void HeadStatisticsCall::OnDone() {
  TakeOver(this);
  options_.on_done(*this);
  std::shared_ptr<HeadStatisticsCall> self;
  MutexLock lock(mu_);
  self = std::move(self_);
}

void HeadStatisticsCall::EndWith(const absl::Status& reason) {
  MutexLock lock(mu_);
  if (takes_texts_) end_ = reason;
  takes_texts_ = false;
  Advance();
}

void HeadStatisticsCall::Advance() {
  if (finished_ || computing_) return;
  if (!takes_texts_) return FinishStream();
  if (reading_) return;
  reading_ = true;
  HandOver(this);
  StartRead(&request_);
}

// A read may still be out when the server ends the stream; what it brings is not looked at.
void HeadStatisticsCall::FinishStream() {
  finished_ = true;
  if (end_.ok() && aggregate_.texts() == 0) {
    end_ = absl::InvalidArgumentError("the stream has no text");
  }
  if (end_.ok()) {
    EncodeHeadStatistics(aggregate_, tokens_, pipeline_.model_info(), response_);
    options_.record->AddResponseBytes(static_cast<int64_t>(response_.ByteSizeLong()));
  }
  request_id_.BeforeFinish(end_.ok());
  options_.record->Finish(end_);
  HandOver(this);
  Finish(EndOfCall(end_, context_));
}

}  // namespace attune
