#ifndef ATTUNE_SERVER_CALL_H_
#define ATTUNE_SERVER_CALL_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace attune {

// The life of one request as everyone who works on it sees it: until when the answer is wanted, and
// whether it still is. Thread-safe.
class Call {
 public:
  explicit Call(absl::Time deadline) : deadline_(deadline) {}

  // The caller went away.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // The request has failed already; whatever is left of it need not run.
  void Abandon() { Cancel(); }

  absl::Time deadline() const { return deadline_; }

  // kCancelled or kDeadlineExceeded once no answer is wanted any more.
  absl::Status CheckWanted(absl::Time now) const {
    if (cancelled_.load(std::memory_order_relaxed)) {
      return absl::CancelledError("the caller cancelled the request");
    }
    if (now >= deadline_) {
      return absl::DeadlineExceededError("the deadline passed before the work was done");
    }
    return absl::OkStatus();
  }

 private:
  const absl::Time deadline_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CALL_H_
