#ifndef ATTUNE_SERVER_BATCHER_H_
#define ATTUNE_SERVER_BATCHER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "server/call.h"
#include "server/fair_queue.h"
#include "server/job.h"
#include "server/queue_observer.h"
#include "server/wait_prediction.h"

namespace attune {

struct BatcherOptions {
  // Tokens, and items, that may wait in all. With none waiting any request is taken, however large.
  int64_t max_queue_tokens = 65'536;
  int64_t max_queue_items = 16'384;
  // How long interactive work may be predicted to wait for what is ahead of it, if that is more
  // than so many tokens.
  absl::Duration max_queue_wait = absl::InfiniteDuration();
  int64_t short_queue_tokens = 0;
  // A batch closes before it would hold more than this; a longer item runs by itself.
  int64_t max_batch_tokens = 256;
  int64_t max_batch_items = 64;
};

// The queue between requests and workers, bounded in tokens and items, and for interactive work in
// time: an answer that comes late is worth less to its caller than an early refusal, and a queue
// that is always long makes nobody faster. It never waits for company: a free worker takes at once
// what is queued, up to a batch. Under load batches form by themselves; without load nobody waits.
//
// Whose items come first is FairQueue's business: clients share the workers, however much each has
// queued. A request of more than kMostInteractiveItems items is bulk, as are those whose call says
// so. Work that nobody waits for any more leaves at once when its call is cancelled, and when it
// has expired, as soon as anybody adds or takes something; a worker then fails its items.
//
// Thread-safe. A call that is cancelled during or after the batcher's destruction does no harm.
class Batcher {
 public:
  static constexpr int64_t kMostInteractiveItems = 8;

  // `clock` and `observer` (null: nobody) are borrowed and outlive the batcher.
  Batcher(const BatcherOptions& options, const Clock& clock, QueueObserver* observer = nullptr);
  ~Batcher();

  // Queues all items, which are one or more of one call, or none. kResourceExhausted when they do
  // not fit, would wait too long, or could not be done before the call's deadline (try again
  // later); kUnavailable after
  // Close; kCancelled or kDeadlineExceeded when no answer is wanted. The items are then untouched
  // and the caller answers. Never blocks.
  absl::Status Add(std::vector<WorkItem> items);

  // Blocks for the next batch: one item that runs alone, or items that share a forward pass. Items
  // that left the queue because their call was cancelled or expired are failed first, on the
  // calling thread. Empty only after Close, when nothing is left.
  std::vector<WorkItem> Take();

  // A worker is through with what it took, of so many tokens. By this the batcher knows how fast
  // the queue moves.
  void Finished(int64_t tokens);

  // Refuses further items; Take hands out what is queued and then ends.
  void Close();

  // Tokens waiting, not counting those being run.
  int64_t queued_tokens() const;
  QueueCounts counts() const;

  // Threads blocked in Take with no token waiting: workers with nothing to do.
  int idle_workers() const;

  // How long it will take until no more than half of the tokens or items that may wait do: when to
  // try again after a refusal. Zero if that is so now.
  absl::Duration TimeToHalfFull() const;

 private:
  class Remover;

  absl::Status Admit(const std::vector<WorkItem>& items, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckRoom(int64_t tokens, int64_t items, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // That `tokens_ahead` do not take too long for work of this class.
  absl::Status CheckWait(WorkClass work_class, int64_t tokens_ahead, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // That `tokens`, those ahead and the call's own, can be done before its deadline.
  absl::Status CheckDeadline(const Call& call, int64_t tokens, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration HalfFullIn(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Takes what nobody waits for out of the queue; a worker is to fail it.
  void DropCancelled(const Call& call) ABSL_LOCKS_EXCLUDED(mu_);
  void DropExpired(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What these waited is over. Allocates nothing.
  void Drop(ClientRing::Requests requests, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Answers what was dropped.
  void Fail(const ClientRing::Requests& requests, absl::Time now) ABSL_LOCKS_EXCLUDED(mu_);

  // Moves the next batch out of the queue.
  std::vector<WorkItem> NextBatch(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const BatcherOptions options_;
  const Clock& clock_;
  QueueObserver* const observer_;
  const std::shared_ptr<Remover> remover_;

  mutable Mutex mu_;
  CondVar changed_;
  FairQueue queue_ ABSL_GUARDED_BY(mu_);
  ClientRing::Requests unwanted_ ABSL_GUARDED_BY(mu_);
  WaitPrediction prediction_ ABSL_GUARDED_BY(mu_);
  QueueCounts counts_ ABSL_GUARDED_BY(mu_);  // all but what is queued
  int blocked_workers_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_BATCHER_H_
