#include "server/wait_prediction.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

constexpr absl::Duration kMemory = absl::Seconds(5);
// What is enough to go by: a few pieces of work, lest one odd one decides, and not an instant.
constexpr int64_t kLeastSeen = 4;
constexpr absl::Duration kLeastTime = absl::Milliseconds(200);
// After so long a pause what shares the machine with this process may be another.
constexpr absl::Duration kStale = absl::Minutes(1);
// No piece of work takes longer; the clock was set forward.
constexpr absl::Duration kMostTime = absl::Seconds(10);

}  // namespace

void WaitPrediction::Finished(int64_t tokens, bool all_busy, absl::Time now) {
  if (busy_since_.has_value()) {
    const absl::Duration time = std::clamp(now - *busy_since_, absl::ZeroDuration(), kMostTime);
    if (now - last_seen_ > kStale) *this = WaitPrediction{};
    const double kept = std::exp(-absl::FDivDuration(time, kMemory));
    tokens_ = kept * tokens_ + static_cast<double>(tokens);
    time_ = kept * time_ + time;
    ++seen_;
    last_seen_ = now;
  }
  busy_since_.reset();
  if (all_busy) busy_since_ = now;
}

std::optional<absl::Duration> WaitPrediction::TimeFor(int64_t tokens, absl::Time now) const {
  if (seen_ < kLeastSeen || time_ < kLeastTime || tokens_ <= 0 || now - last_seen_ > kStale) {
    return std::nullopt;
  }
  return time_ * (static_cast<double>(tokens) / tokens_);
}

}  // namespace attune
