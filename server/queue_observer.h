// What can be told about the queue, for metrics.
#ifndef ATTUNE_SERVER_QUEUE_OBSERVER_H_
#define ATTUNE_SERVER_QUEUE_OBSERVER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/work_class.h"

namespace attune {

// What waits now, and what has happened to requests and their items since the start.
struct QueueCounts {
  int64_t queued_items = 0;
  int64_t queued_tokens = 0;
  // Items that left the queue because nobody waited for their answer any more.
  int64_t items_expired = 0;
  int64_t items_cancelled = 0;
  // Requests that were refused.
  int64_t rejected_queue_tokens = 0;
  int64_t rejected_queue_items = 0;
  int64_t rejected_queue_wait = 0;
  int64_t rejected_deadline_unreachable = 0;
};

// Told of each item, some with the queue's lock held: must be quick, and must not use the queue.
// Thread-safe.
class QueueObserver {
 public:
  virtual ~QueueObserver() = default;
  // A worker takes an item that waited so long.
  virtual void OnItemTaken(WorkClass /*work_class*/, absl::Duration /*waited*/) {}
  // An item leaves the queue because its deadline passed (kDeadlineExceeded) or its caller went
  // away (kCancelled).
  virtual void OnItemDropped(absl::StatusCode /*why*/) {}
};

}  // namespace attune

#endif  // ATTUNE_SERVER_QUEUE_OBSERVER_H_
