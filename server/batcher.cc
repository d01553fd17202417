#include "server/batcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/error_details.h"
#include "server/retry_delay.h"

namespace attune {
namespace {

absl::Status Closed() {
  return WithRetryDelay(
      WithReason(absl::UnavailableError("the server is draining"), ErrorReason::kDraining),
      RetryDelay(kUnmeasuredWait));
}

int64_t RoundToMilliseconds(absl::Duration time) {
  return absl::ToInt64Milliseconds(time + absl::Microseconds(500));
}

int64_t ItemsLeft(const ClientRing::Requests& requests) {
  int64_t items = 0;
  for (const WaitingRequest& request : requests) items += request.items_left();
  return items;
}

WorkClass ClassOf(const std::vector<WorkItem>& items) {
  if (static_cast<int64_t>(items.size()) > Batcher::kMostInteractiveItems) return WorkClass::kBulk;
  return items.front().job->call().work_class();
}

}  // namespace

// What calls know of the batcher, which they may outlive.
class Batcher::Remover final : public CancelListener {
 public:
  explicit Remover(Batcher& batcher) : batcher_(&batcher) {}

  void OnCancelled(const Call& call) override {
    MutexLock lock(mu_);
    if (batcher_ != nullptr) batcher_->DropCancelled(call);
  }
  // Returns when nobody is in OnCancelled, and nobody will do anything there.
  void Detach() {
    MutexLock lock(mu_);
    batcher_ = nullptr;
  }

 private:
  Mutex mu_;
  Batcher* batcher_ ABSL_GUARDED_BY(mu_);
};

// Half a batch is the least turn, so that every batch has room for two clients.
Batcher::Batcher(const BatcherOptions& options, const Clock& clock, QueueObserver* observer)
    : options_(options),
      clock_(clock),
      observer_(observer),
      remover_(std::make_shared<Remover>(*this)),
      queue_(std::max<int64_t>(1, options.max_batch_tokens / 2)) {}

Batcher::~Batcher() { remover_->Detach(); }

absl::Status Batcher::Add(std::vector<WorkItem> items) {
  const size_t added = items.size();
  {
    MutexLock lock(mu_);
    const absl::Time now = clock_.Now();
    DropExpired(now);
    ATTUNE_RETURN_IF_ERROR(Admit(items, now));
    Call& call = items.front().job->call();
    // A call that is cancelled from here on waits for the lock, and then finds its items.
    if (!call.ListenForCancel(remover_)) return call.CheckWanted(now);
    const WorkClass work_class = ClassOf(items);
    queue_.Push(std::move(items), work_class, now);
    if (CallRecord* record = call.record()) {
      record->BeginQueue(static_cast<int64_t>(added), now);
    }
  }
  if (added == 1) {
    changed_.NotifyOne();
  } else {
    changed_.NotifyAll();
  }
  return absl::OkStatus();
}

absl::Status Batcher::Admit(const std::vector<WorkItem>& items, absl::Time now) {
  if (closed_) return Closed();
  const Call& call = items.front().job->call();
  ATTUNE_RETURN_IF_ERROR(call.CheckWanted(now));
  const int64_t tokens = TotalTokens(items);
  const bool let_in = tokens == 0 || queue_.tokens() == 0 || items.front().job->continues();
  if (let_in) return absl::OkStatus();
  ATTUNE_RETURN_IF_ERROR(CheckRoom(tokens, static_cast<int64_t>(items.size()), now));
  const WorkClass work_class = ClassOf(items);
  const int64_t until_taken = queue_.TokensUntilTaken(work_class, call, tokens);
  ATTUNE_RETURN_IF_ERROR(CheckWait(work_class, until_taken - tokens, now));
  return CheckDeadline(call, until_taken, now);
}

absl::Status Batcher::CheckRoom(int64_t tokens, int64_t items, absl::Time now) {
  if (queue_.tokens() + tokens > options_.max_queue_tokens) {
    ++counts_.rejected_queue_tokens;
    return LimitReached(
        ErrorReason::kQueueFull,
        {"max-queue-tokens", options_.max_queue_tokens, queue_.tokens(), tokens},
        absl::StrCat("the queue is full: ", queue_.tokens(), " tokens wait, this request has ",
                     tokens, ", the limit is ", options_.max_queue_tokens, "; try again later"),
        RetryDelay(HalfFullIn(now)));
  }
  if (queue_.items() + items > options_.max_queue_items) {
    ++counts_.rejected_queue_items;
    return LimitReached(
        ErrorReason::kQueueFull,
        {"max-queue-items", options_.max_queue_items, queue_.items(), items},
        absl::StrCat("the queue is full: ", queue_.items(), " texts wait, this request has ", items,
                     ", the limit is ", options_.max_queue_items, "; try again later"),
        RetryDelay(HalfFullIn(now)));
  }
  return absl::OkStatus();
}

absl::Status Batcher::CheckWait(WorkClass work_class, int64_t tokens_ahead, absl::Time now) {
  // Bulk work is there to be queued: it gives way to interactive work, and its callers wait for all
  // of it, not for its beginning.
  if (work_class == WorkClass::kBulk || tokens_ahead <= options_.short_queue_tokens) {
    return absl::OkStatus();
  }
  const std::optional<absl::Duration> predicted = prediction_.TimeFor(tokens_ahead, now);
  if (!predicted.has_value() || *predicted <= options_.max_queue_wait) return absl::OkStatus();
  ++counts_.rejected_queue_wait;
  const int64_t predicted_ms = RoundToMilliseconds(*predicted);
  const int64_t limit_ms = RoundToMilliseconds(options_.max_queue_wait);
  return LimitReached(
      ErrorReason::kQueueFull, {"max-queue-wait", limit_ms, predicted_ms, 0},
      absl::StrCat("the queue is too long: this request is predicted to wait ", predicted_ms,
                   " ms, the limit is ", limit_ms, " ms; try again later"),
      RetryDelay(*predicted - options_.max_queue_wait / 2));
}

absl::Status Batcher::CheckDeadline(const Call& call, int64_t tokens, absl::Time now) {
  const std::optional<absl::Duration> predicted = prediction_.TimeFor(tokens, now);
  const absl::Duration allowed = call.deadline() - now;
  if (!predicted.has_value() || *predicted <= allowed) return absl::OkStatus();
  ++counts_.rejected_deadline_unreachable;
  const int64_t predicted_ms = RoundToMilliseconds(*predicted);
  const int64_t allowed_ms = absl::ToInt64Milliseconds(allowed);
  absl::Status refusal = absl::ResourceExhaustedError(absl::StrCat(
      "the deadline cannot be met: with what waits ahead this request is predicted to take ",
      predicted_ms, " ms, its deadline allows ", allowed_ms,
      " ms; try again later, or allow more"));
  refusal = WithReason(
      std::move(refusal), ErrorReason::kDeadlineUnreachable,
      {{"predicted_ms", absl::StrCat(predicted_ms)}, {"allowed_ms", absl::StrCat(allowed_ms)}});
  return WithRetryDelay(std::move(refusal), RetryDelay(*predicted - allowed));
}

std::vector<WorkItem> Batcher::Take() {
  for (;;) {
    ClientRing::Requests unwanted;
    std::vector<WorkItem> batch;
    absl::Time now;
    bool ended = false;
    {
      MutexLock lock(mu_);
      while (queue_.empty() && unwanted_.empty() && !closed_) {
        prediction_.WorkerIdles();
        ++blocked_workers_;
        changed_.Wait(mu_);
        --blocked_workers_;
      }
      now = clock_.Now();
      DropExpired(now);
      batch = NextBatch(now);
      unwanted.swap(unwanted_);
      ended = closed_ && queue_.empty();
    }
    // Outside the lock: an answer runs the caller's code.
    Fail(unwanted, now);
    if (!batch.empty() || ended) return batch;
  }
}

void Batcher::Fail(const ClientRing::Requests& requests, absl::Time now) {
  for (const WaitingRequest& request : requests) {
    const absl::Status reason = request.call().CheckWanted(now);
    for (size_t i = request.next; i < request.items.size(); ++i) {
      if (observer_ != nullptr) observer_->OnItemDropped(reason.code());
      request.items[i].job->Fail(request.items[i].index, reason);
    }
  }
}

std::vector<WorkItem> Batcher::NextBatch(absl::Time now) {
  std::vector<WorkItem> batch;
  // First, so that where memory runs out nothing has been taken.
  batch.reserve(static_cast<size_t>(std::min(options_.max_batch_items, queue_.items() + 1)));
  int64_t tokens = 0;
  while (!queue_.empty()) {
    const WorkItem& next = queue_.Front();
    const bool alone = next.job->runs_alone();
    if (!batch.empty() && (alone || tokens + next.tokens > options_.max_batch_tokens ||
                           static_cast<int64_t>(batch.size()) >= options_.max_batch_items)) {
      break;
    }
    FairQueue::Taken taken = queue_.Pop();
    const absl::Duration waited = now - taken.since;
    if (CallRecord* record = taken.item.job->call().record()) record->EndQueue(taken.since, now);
    if (observer_ != nullptr && taken.item.tokens > 0) {
      observer_->OnItemTaken(taken.work_class, waited);
    }
    tokens += taken.item.tokens;
    batch.push_back(std::move(taken.item));
    if (alone) break;
  }
  return batch;
}

void Batcher::Finished(int64_t tokens) {
  MutexLock lock(mu_);
  prediction_.Finished(tokens, blocked_workers_ == 0, clock_.Now());
}

// The items keep the call alive until they are failed.
void Batcher::DropCancelled(const Call& call) {
  {
    MutexLock lock(mu_);
    ClientRing::Requests requests = queue_.RemoveCall(call);
    if (requests.empty()) return;
    counts_.items_cancelled += ItemsLeft(requests);
    Drop(std::move(requests), clock_.Now());
  }
  changed_.NotifyOne();
}

void Batcher::DropExpired(absl::Time now) {
  ClientRing::Requests requests = queue_.RemoveExpired(now);
  counts_.items_expired += ItemsLeft(requests);
  Drop(std::move(requests), now);
}

void Batcher::Drop(ClientRing::Requests requests, absl::Time now) {
  for (const WaitingRequest& request : requests) {
    CallRecord* record = request.call().record();
    if (record == nullptr) continue;
    for (int64_t i = 0; i < request.items_left(); ++i) record->EndQueue(request.since, now);
  }
  unwanted_.splice(unwanted_.end(), requests);
}

void Batcher::Close() {
  {
    MutexLock lock(mu_);
    closed_ = true;
  }
  changed_.NotifyAll();
}

int64_t Batcher::queued_tokens() const {
  MutexLock lock(mu_);
  return queue_.tokens();
}

QueueCounts Batcher::counts() const {
  MutexLock lock(mu_);
  QueueCounts counts = counts_;
  counts.queued_items = queue_.items();
  counts.queued_tokens = queue_.tokens();
  return counts;
}

int Batcher::idle_workers() const {
  MutexLock lock(mu_);
  return queue_.tokens() > 0 ? 0 : blocked_workers_;
}

absl::Duration Batcher::TimeToHalfFull() const {
  MutexLock lock(mu_);
  return HalfFullIn(clock_.Now());
}

absl::Duration Batcher::HalfFullIn(absl::Time now) const {
  const int64_t half_tokens = options_.max_queue_tokens / 2;
  const int64_t half_items = options_.max_queue_items / 2;
  int64_t excess = std::max<int64_t>(0, queue_.tokens() - half_tokens);
  if (queue_.items() > half_items) {
    // Items have as many tokens as they have on average.
    const int64_t tokens_per_item = queue_.tokens() / queue_.items();
    excess = std::max(excess, (queue_.items() - half_items) * tokens_per_item);
  }
  if (excess == 0) return absl::ZeroDuration();
  return prediction_.TimeFor(excess, now).value_or(kUnmeasuredWait);
}

}  // namespace attune
