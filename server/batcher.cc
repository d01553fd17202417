#include "server/batcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/error_details.h"
#include "server/retry_delay.h"

namespace attune {

namespace {

absl::Status Closed() {
  return WithRetryDelay(
      WithReason(absl::UnavailableError("the server is draining"), ErrorReason::kDraining),
      RetryDelay(kUnmeasuredWait));
}

}  // namespace

Batcher::Batcher(const BatcherOptions& options, const Clock& clock)
    : options_(options), clock_(clock) {}

absl::Status Batcher::Add(std::vector<WorkItem> items) {
  int64_t tokens = 0;
  for (const WorkItem& item : items) tokens += item.tokens;
  const size_t added = items.size();
  {
    MutexLock lock(mu_);
    if (closed_) return Closed();
    if (queued_tokens_ > 0 && queued_tokens_ + tokens > options_.max_queue_tokens) {
      return Full(tokens);
    }
    queued_tokens_ += tokens;
    for (WorkItem& item : items) queue_.push_back(std::move(item));
  }
  if (added == 1) {
    changed_.NotifyOne();
  } else {
    changed_.NotifyAll();
  }
  return absl::OkStatus();
}

absl::Status Batcher::Full(int64_t tokens) const {
  return LimitReached(
      ErrorReason::kQueueFull,
      {"max-queue-tokens", options_.max_queue_tokens, queued_tokens_, tokens},
      absl::StrCat("the queue is full: ", queued_tokens_, " tokens wait, this request has ", tokens,
                   ", the limit is ", options_.max_queue_tokens, "; try again later"),
      RetryDelay(kUnmeasuredWait));
}

std::vector<WorkItem> Batcher::Take() {
  for (;;) {
    std::vector<WorkItem> unwanted;
    std::vector<WorkItem> batch;
    bool ended = false;
    {
      MutexLock lock(mu_);
      ++blocked_workers_;
      while (queue_.empty() && !closed_) changed_.Wait(mu_);
      --blocked_workers_;
      batch = NextBatch(unwanted);
      ended = closed_ && queue_.empty();
    }
    // Outside the lock: an answer runs the caller's code.
    for (WorkItem& item : unwanted) {
      item.job->Fail(item.index, item.job->call().CheckWanted(clock_.Now()));
    }
    if (!batch.empty() || ended) return batch;
  }
}

std::vector<WorkItem> Batcher::NextBatch(std::vector<WorkItem>& unwanted) {
  const absl::Time now = clock_.Now();
  std::vector<WorkItem> batch;
  int64_t tokens = 0;
  while (!queue_.empty()) {
    const WorkItem& next = queue_.front();
    if (!next.job->call().CheckWanted(now).ok()) {
      unwanted.push_back(PopFront());
      continue;
    }
    const bool alone = next.job->runs_alone();
    if (!batch.empty() && (alone || tokens + next.tokens > options_.max_batch_tokens ||
                           static_cast<int64_t>(batch.size()) >= options_.max_batch_items)) {
      break;
    }
    tokens += next.tokens;
    batch.push_back(PopFront());
    if (alone) break;
  }
  return batch;
}

WorkItem Batcher::PopFront() {
  WorkItem item = std::move(queue_.front());
  queue_.pop_front();
  queued_tokens_ -= item.tokens;
  return item;
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
  return queued_tokens_;
}

int Batcher::idle_workers() const {
  MutexLock lock(mu_);
  return queued_tokens_ > 0 ? 0 : blocked_workers_;
}

}  // namespace attune
