// What can be told about the queue, for metrics.
#ifndef ATTUNE_SERVER_QUEUE_OBSERVER_H_
#define ATTUNE_SERVER_QUEUE_OBSERVER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/call.h"

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
  int64_t rejected_deadline_unreachable = 0;
};

// Told of each item. Thread-safe.
class QueueObserver {
 public:
  virtual ~QueueObserver() = default;
  // A worker takes an item that waited so long. Called with the queue's lock held: must be quick,
  // and must not use the queue.
  virtual void OnItemTaken(WorkClass /*work_class*/, absl::Duration /*waited*/) {}
};

}  // namespace attune

#endif  // ATTUNE_SERVER_QUEUE_OBSERVER_H_
