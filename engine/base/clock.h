// Time as an argument, so that tests advance it by hand.
#ifndef ATTUNE_ENGINE_BASE_CLOCK_H_
#define ATTUNE_ENGINE_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace attune {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The wall clock of this machine. Lives as long as the process.
const Clock& RealClock();

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_CLOCK_H_
