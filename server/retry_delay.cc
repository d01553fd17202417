#include "server/retry_delay.h"

#include <algorithm>

#include "absl/random/random.h"

namespace attune {
namespace {

constexpr double kJitter = 0.2;

}  // namespace

absl::Duration RetryDelay(absl::Duration predicted_wait) {
  thread_local absl::InsecureBitGen random;
  // Taking off only, from a range that begins higher, keeps every delay within its limits.
  const absl::Duration longest =
      std::clamp(predicted_wait, kLeastRetryDelay / (1 - kJitter), kMostRetryDelay);
  const absl::Duration delay = longest * absl::Uniform(random, 1 - kJitter, 1.0);
  return std::max(delay, kLeastRetryDelay);
}

}  // namespace attune
