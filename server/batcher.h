#ifndef ATTUNE_SERVER_BATCHER_H_
#define ATTUNE_SERVER_BATCHER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "server/job.h"

namespace attune {

struct BatcherOptions {
  // Tokens that may wait in all. With none waiting any request is taken, however large.
  int64_t max_queue_tokens = 65'536;
  // A batch closes before it would hold more than this; a longer item runs by itself.
  int64_t max_batch_tokens = 256;
  int64_t max_batch_items = 64;
};

// The queue between requests and workers, bounded in tokens. It never waits for company: a free
// worker takes at once what is queued, in order of arrival, up to a batch. Under load batches form
// by themselves; without load nobody waits. Thread-safe.
class Batcher {
 public:
  // `clock` is borrowed and outlives the batcher.
  Batcher(const BatcherOptions& options, const Clock& clock);

  // Queues all items or none. kResourceExhausted when they do not fit (try again later),
  // kUnavailable after Close; the items are then untouched and the caller answers. Never blocks.
  absl::Status Add(std::vector<WorkItem> items);

  // Blocks for the next batch: one item that runs alone, or items that share a forward pass. Items
  // whose call was cancelled or expired are failed on the way, on the calling thread, and never
  // returned. Empty only after Close, when nothing is left.
  std::vector<WorkItem> Take();

  // Refuses further items; Take hands out what is queued and then ends.
  void Close();

  // Tokens waiting, not counting those being run.
  int64_t queued_tokens() const;

  // Threads blocked in Take with no token waiting: workers with nothing to do.
  int idle_workers() const;

 private:
  // Why `tokens` more do not fit.
  absl::Status Full(int64_t tokens) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Moves the next batch out of the queue; what is no longer wanted goes to `unwanted`.
  std::vector<WorkItem> NextBatch(std::vector<WorkItem>& unwanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  WorkItem PopFront() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const BatcherOptions options_;
  const Clock& clock_;

  mutable Mutex mu_;
  CondVar changed_;
  std::deque<WorkItem> queue_ ABSL_GUARDED_BY(mu_);
  int64_t queued_tokens_ ABSL_GUARDED_BY(mu_) = 0;
  int blocked_workers_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_BATCHER_H_
