// When a client that was refused should come back.
#ifndef ATTUNE_SERVER_RETRY_DELAY_H_
#define ATTUNE_SERVER_RETRY_DELAY_H_

#include "absl/time/time.h"

namespace attune {

inline constexpr absl::Duration kLeastRetryDelay = absl::Milliseconds(50);
inline constexpr absl::Duration kMostRetryDelay = absl::Seconds(5);

// What to expect where nothing is measured: about as long as a full queue takes to make room.
inline constexpr absl::Duration kUnmeasuredWait = absl::Milliseconds(500);

// `predicted_wait` as a delay to ask for: from kLeastRetryDelay to kMostRetryDelay, and up to 20 %
// off it at random, so that those who were refused together do not come back together. Thread-safe.
absl::Duration RetryDelay(absl::Duration predicted_wait);

}  // namespace attune

#endif  // ATTUNE_SERVER_RETRY_DELAY_H_
