// Time as an argument, so that tests advance it by hand.
#ifndef ATTUNE_ENGINE_BASE_CLOCK_H_
#define ATTUNE_ENGINE_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace attune {

// What the wall clock said at the first call, and the time that has passed since: it does not jump
// when somebody sets the clock. Of everything that waits or is measured; the wall clock itself
// (absl::Now) is for people and for certificates. Thread-safe.
absl::Time SteadyNow();

// By how much the wall clock, as it is set now, is ahead of SteadyNow; negative if it is behind.
// For times that other processes tell or are told. Thread-safe.
absl::Duration WallClockAhead();

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// SteadyNow. Lives as long as the process.
const Clock& RealClock();

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_CLOCK_H_
