#ifndef ATTUNE_SERVER_WAIT_PREDICTION_H_
#define ATTUNE_SERVER_WAIT_PREDICTION_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace attune {

// How long the workers take for what waits, from what they finished lately. Only time in which all
// of them worked counts, so that an idle hour does not look like a slow one, and older work weighs
// ever less. Thread-compatible.
class WaitPrediction {
 public:
  // A worker finished work of `tokens` tokens. `all_busy`: no worker is without work.
  void Finished(int64_t tokens, bool all_busy, absl::Time now);
  // A worker has run out of work.
  void WorkerIdles() { busy_since_.reset(); }

  // The time in which all workers together take `tokens` tokens. Absent until enough work has been
  // seen, and when the last was seen too long ago to go by.
  std::optional<absl::Duration> TimeFor(int64_t tokens, absl::Time now) const;

 private:
  // Set while all workers are busy: when the last of them finished something.
  std::optional<absl::Time> busy_since_;
  absl::Time last_seen_ = absl::InfinitePast();
  int64_t seen_ = 0;  // pieces of work
  // Sums of all that was seen, in which what is kMemory of busy time old weighs 1 / e.
  double tokens_ = 0;
  absl::Duration time_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_WAIT_PREDICTION_H_
