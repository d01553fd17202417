#include "tests/soak/mixed_load.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/error_details.h"
#include "client/grpc_status.h"

namespace attune::testing {
namespace {

// Far more than any call takes; a call that meets it has lost its reply.
constexpr absl::Duration kLongest = absl::Seconds(100);
constexpr int kMostTexts = 12;
constexpr int kMostStreamItems = 24;
constexpr absl::Duration kLatestCancel = absl::Milliseconds(20);

void SetDeadline(grpc::ClientContext& context, absl::Duration duration) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + duration));
}

bool IsRefusal(grpc::StatusCode code) {
  return code == grpc::StatusCode::RESOURCE_EXHAUSTED || code == grpc::StatusCode::UNAVAILABLE;
}

// The server's reason for a refusal. A call that was cut off has the same code, and none.
std::string ReasonOf(const absl::Status& status) {
  if (!IsRefusal(static_cast<grpc::StatusCode>(status.code()))) return "";
  return ReasonOfError(status).value_or("");
}

// One of the clients.
class Client {
 public:
  Client(const std::shared_ptr<grpc::Channel>& channel, const KnownTexts& texts, uint64_t seed)
      : stub_(v1::EncoderService::NewStub(channel)), texts_(texts), random_(seed) {}

  Tally Run(absl::Time until) {
    while (absl::Now() < until && !drained_) RunOne();
    return std::move(tally_);
  }

 private:
  // What this side does to a call, which decides how it may end.
  struct Disturbance {
    bool cancelled = false;
    bool hurried = false;  // given a deadline that may be too short
  };

  void RunOne() {
    ++tally_.started;
    const uint64_t choice = Below(100);
    if (choice < 60) return Encode(Disturbance{});
    if (choice < 72) return Encode(Disturbance{.cancelled = true});
    if (choice < 80) return Encode(Disturbance{.hurried = true});
    if (choice < 88) return SendBadRequest();
    if (choice < 94) return Stream();
    MapAttention();
  }

  void Encode(Disturbance disturbance) {
    v1::EncodeRequest request;
    std::vector<int> chosen(1 + Below(kMostTexts));
    for (int& i : chosen) {
      i = AnyText();
      request.mutable_texts()->add_values(texts_.text(i));
    }
    grpc::ClientContext context;
    SetDeadline(context, disturbance.hurried ? AnyTime() : kLongest);
    v1::EncodeResponse response;
    const grpc::Status status = CallEncode(context, request, response, disturbance.cancelled);
    if (!status.ok()) return EndWith(ToAbslStatus(status), disturbance);
    if (response.embeddings_size() != static_cast<int>(chosen.size())) {
      return tally_.Fault(Ending::kWrongAnswer, "another number of vectors than of texts");
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (!texts_.IsVectorOf(chosen[i], response.embeddings(static_cast<int>(i)))) {
        return tally_.Fault(Ending::kWrongAnswer,
                            absl::StrCat("not the vector of \"", texts_.text(chosen[i]), "\""));
      }
    }
    tally_.Add(Ending::kAnswered);
  }

  grpc::Status CallEncode(grpc::ClientContext& context, const v1::EncodeRequest& request,
                          v1::EncodeResponse& response, bool cancel) {
    absl::Notification ended;
    grpc::Status status;
    stub_->async()->Encode(&context, &request, &response, [&](grpc::Status end) {
      status = std::move(end);
      ended.Notify();
    });
    if (cancel && !ended.WaitForNotificationWithTimeout(AnyTime())) context.TryCancel();
    ended.WaitForNotification();
    return status;
  }

  void SendBadRequest() {
    v1::EncodeRequest request;
    switch (Below(4)) {
      case 0:
        break;  // no input at all
      case 1:
        request.mutable_texts();  // an empty list
        break;
      case 2:
        request.mutable_texts()->add_values("cat");
        request.mutable_options()->set_pooling(static_cast<v1::Pooling>(99));
        break;
      default:
        request.mutable_token_ids()->add_values()->add_values(1'000'000'000);
    }
    grpc::ClientContext context;
    SetDeadline(context, kLongest);
    v1::EncodeResponse response;
    const grpc::Status status = stub_->Encode(&context, request, &response);
    if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      return tally_.Add(Ending::kRejected);
    }
    if (status.ok()) return tally_.Fault(Ending::kWrongAnswer, "a bad request was answered");
    EndWith(ToAbslStatus(status), Disturbance{});
  }

  void Stream() {
    const bool abandon = Below(3) == 0;
    grpc::ClientContext context;
    SetDeadline(context, kLongest);
    const auto stream = stub_->StreamEncode(&context);
    std::vector<int> chosen(1 + Below(kMostStreamItems));
    for (size_t i = 0; i < chosen.size(); ++i) {
      chosen[i] = AnyText();
      v1::StreamEncodeRequest item;
      item.set_id(i);
      item.set_text(texts_.text(chosen[i]));
      if (!stream->Write(item)) break;
    }
    if (abandon) context.TryCancel();
    stream->WritesDone();
    std::vector<int> answers(chosen.size());
    bool right = true;
    v1::StreamEncodeResponse answer;
    while (stream->Read(&answer)) {
      const bool known = answer.id() < chosen.size();
      right = right && known;
      if (!known) continue;
      ++answers[answer.id()];
      right = right && (answer.has_embedding()
                            ? texts_.IsVectorOf(chosen[answer.id()], answer.embedding())
                            : IsRefusal(static_cast<grpc::StatusCode>(answer.error().code())));
    }
    const grpc::Status status = stream->Finish();
    if (!right) return tally_.Fault(Ending::kWrongAnswer, "not the vector of a stream's item");
    if (!status.ok()) return EndWith(ToAbslStatus(status), Disturbance{.cancelled = abandon});
    const bool each_once =
        std::all_of(answers.begin(), answers.end(), [](int count) { return count == 1; });
    if (!each_once) {
      return tally_.Fault(Ending::kWrongAnswer, "a stream's item was not answered once");
    }
    tally_.Add(Ending::kAnswered);
  }

  void MapAttention() {
    const int text = AnyText();
    grpc::ClientContext context;
    SetDeadline(context, kLongest);
    const absl::StatusOr<std::string> map = AskForMap(*stub_, context, texts_.text(text));
    if (!map.ok()) return EndWith(map.status(), Disturbance{});
    if (*map != texts_.map(text)) {
      return tally_.Fault(Ending::kWrongAnswer, "not the attention map of its text");
    }
    tally_.Add(Ending::kAnswered);
  }

  void EndWith(const absl::Status& status, Disturbance disturbance) {
    if (disturbance.cancelled && absl::IsCancelled(status)) return tally_.Add(Ending::kCancelled);
    if (disturbance.hurried && absl::IsDeadlineExceeded(status)) {
      return tally_.Add(Ending::kExpired);
    }
    const std::string reason = ReasonOf(status);
    if (reason.empty()) return tally_.Fault(Ending::kWrongCode, status.ToString());
    drained_ = reason == "DRAINING";
    tally_.Add(Ending::kRefused);
  }

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  int AnyText() { return static_cast<int>(Below(static_cast<uint64_t>(texts_.size()))); }
  absl::Duration AnyTime() { return kLatestCancel * (static_cast<double>(Below(1000)) / 1000); }

  const std::unique_ptr<v1::EncoderService::Stub> stub_;
  const KnownTexts& texts_;
  std::mt19937_64 random_;
  bool drained_ = false;  // the server has said so
  Tally tally_;
};

}  // namespace

absl::string_view EndingName(Ending ending) {
  switch (ending) {
    case Ending::kAnswered:
      return "answered";
    case Ending::kCancelled:
      return "cancelled";
    case Ending::kExpired:
      return "expired";
    case Ending::kRejected:
      return "rejected";
    case Ending::kRefused:
      return "refused";
    case Ending::kWrongAnswer:
      return "wrong_answer";
    case Ending::kWrongCode:
      return "wrong_code";
  }
  return "unknown";
}

uint64_t Tally::calls_ended() const {
  uint64_t sum = 0;
  for (const uint64_t count : ended) sum += count;
  return sum;
}

void Tally::Fault(Ending ending, std::string what) {
  Add(ending);
  if (first_fault.empty()) first_fault = std::move(what);
}

void Tally::Merge(const Tally& other) {
  for (size_t i = 0; i < ended.size(); ++i) ended[i] += other.ended[i];
  started += other.started;
  if (first_fault.empty()) first_fault = other.first_fault;
}

Tally RunMixedLoad(const std::shared_ptr<grpc::Channel>& channel, const KnownTexts& texts,
                   const LoadPlan& plan) {
  std::vector<Tally> tallies(static_cast<size_t>(plan.clients));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < tallies.size(); ++i) {
    threads.emplace_back(
        [&, i] { tallies[i] = Client(channel, texts, plan.seed * 1000 + i).Run(plan.until); });
  }
  Tally all;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    all.Merge(tallies[i]);
  }
  return all;
}

}  // namespace attune::testing
