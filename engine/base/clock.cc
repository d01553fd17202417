#include "engine/base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace attune {
namespace {

absl::Duration Uptime() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return SteadyNow(); }
};

}  // namespace

absl::Time SteadyNow() {
  static const absl::Time began = absl::Now() - Uptime();
  return began + Uptime();
}

absl::Duration WallClockAhead() {
  // absl::Now would notice only after a second or two that the clock was set.
  return absl::FromChrono(std::chrono::system_clock::now()) - SteadyNow();
}

const Clock& RealClock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace attune
