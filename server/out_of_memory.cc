#include "server/out_of_memory.h"

#include "server/error_details.h"
#include "server/retry_delay.h"

namespace attune {

absl::Status OutOfMemory(absl::string_view message) {
  return WithRetryDelay(
      WithReason(absl::ResourceExhaustedError(message), ErrorReason::kOutOfMemory),
      RetryDelay(kUnmeasuredWait));
}

}  // namespace attune
