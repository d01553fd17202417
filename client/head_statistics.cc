// Client::HeadStatistics: one text after the other into a call, on the calling thread.
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "client/encode_messages.h"
#include "client/error_details.h"
#include "client/grpc_status.h"
#include "client/input_index.h"
#include "grpcpp/completion_queue.h"

namespace attune {
namespace {

// The server's messages about one text start with its number: "text 3: ...".
absl::Status WithIndexOfText(const absl::Status& status) {
  absl::string_view message = status.message();
  const size_t colon = message.find(": ");
  size_t index = 0;
  if (colon == absl::string_view::npos || !absl::ConsumePrefix(&message, "text ") ||
      !absl::SimpleAtoi(message.substr(0, message.find(':')), &index)) {
    return status;
  }
  return internal::WithInputIndex(internal::WithMessage(status, status.message().substr(colon + 2)),
                                  index);
}

// One call. A synchronous stream could not bound how long the server may take over one text.
class StatisticsCall {
 public:
  StatisticsCall(v1::EncoderService::StubInterface& stub, absl::Duration deadline)
      : deadline_(deadline),
        writer_(stub.PrepareAsyncHeadStatistics(&context_, &response_, &queue_)) {
    writer_->StartCall(this);
    Await(deadline_);
  }

  ~StatisticsCall() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  StatisticsCall(const StatisticsCall&) = delete;
  StatisticsCall& operator=(const StatisticsCall&) = delete;

  // False if the stream takes no more; Finish tells why.
  bool Send(const v1::HeadStatisticsRequest& request) {
    writer_->Write(request, this);
    ++texts_;
    return Await(deadline_);
  }

  // The answer, after all texts.
  absl::StatusOr<v1::HeadStatisticsResponse> Finish() {
    if (!timed_out_) {
      writer_->WritesDone(this);
      Await(deadline_);
    }
    grpc::Status status;
    writer_->Finish(&status, this);
    // What was taken may not have been computed yet.
    Await(deadline_ * static_cast<double>(texts_ + 1));
    if (timed_out_) {
      return absl::DeadlineExceededError(absl::StrCat("the server did not get on with text ",
                                                      texts_ == 0 ? 0 : texts_ - 1, " within ",
                                                      absl::FormatDuration(deadline_)));
    }
    if (!status.ok()) return WithIndexOfText(ToAbslStatus(status));
    return std::move(response_);
  }

  // Gives up. Nothing but the destructor may follow.
  void Cancel() {
    context_.TryCancel();
    grpc::Status status;
    writer_->Finish(&status, this);
    Await(deadline_);
  }

 private:
  // Waits for the one operation under way; false if it failed, or was cancelled after `bound`.
  bool Await(absl::Duration bound) {
    void* tag = nullptr;
    bool ok = false;
    const auto end = absl::ToChronoTime(absl::Now() + bound);
    if (queue_.AsyncNext(&tag, &ok, end) == grpc::CompletionQueue::GOT_EVENT) return ok;
    timed_out_ = true;
    context_.TryCancel();
    // It returns soon now that it is cancelled.
    if (!queue_.Next(&tag, &ok)) std::abort();
    return false;
  }

  const absl::Duration deadline_;
  grpc::ClientContext context_;
  v1::HeadStatisticsResponse response_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::ClientAsyncWriterInterface<v1::HeadStatisticsRequest>> writer_;
  uint64_t texts_ = 0;
  bool timed_out_ = false;
};

}  // namespace

absl::StatusOr<v1::HeadStatisticsResponse> Client::HeadStatistics(
    const TextSource& source, const HeadStatisticsOptions& options) const {
  StatisticsCall call(*encoder_, options_.deadline);
  v1::HeadStatisticsRequest request;
  request.set_truncation(options.truncation);
  for (size_t texts = 0;; ++texts) {
    absl::StatusOr<std::optional<std::string>> text = source();
    if (text.ok() && *text) {
      const absl::Status status = internal::CheckUtf8(**text, "text");
      if (!status.ok()) text = internal::WithInputIndex(status, texts);
    }
    if (!text.ok()) {
      call.Cancel();
      return text.status();
    }
    if (!*text) break;
    request.set_text(**std::move(text));
    if (!call.Send(request)) break;
    if (options.on_progress) options.on_progress(texts + 1);
  }
  return call.Finish();
}

}  // namespace attune
