// Why a call was refused though nothing was wrong with it, as metrics count it.
#ifndef ATTUNE_SERVER_REFUSAL_REASON_H_
#define ATTUNE_SERVER_REFUSAL_REASON_H_

#include <array>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/error_reason.h"

namespace attune {

// The reasons by which refusals are counted.
inline constexpr std::array kRefusalReasons = {
    ErrorReason::kQueueFull,        ErrorReason::kPendingBytesFull,
    ErrorReason::kCallsBudgetFull,  ErrorReason::kAttentionBudgetFull,
    ErrorReason::kStreamsFull,      ErrorReason::kOutOfMemory,
    ErrorReason::kOutOfDescriptors, ErrorReason::kDeadlineUnreachable,
    ErrorReason::kLoading,          ErrorReason::kDraining,
};
// With one more that stands for any other.
inline constexpr size_t kRefusalCounts = kRefusalReasons.size() + 1;

// E.g. "QUEUE_FULL"; "OTHER" for the last. REQUIRES: index < kRefusalCounts.
absl::string_view RefusalName(size_t index);

// Under which index `status` is counted: nothing unless it is kResourceExhausted or kUnavailable.
std::optional<size_t> RefusalIndex(const absl::Status& status);

}  // namespace attune

#endif  // ATTUNE_SERVER_REFUSAL_REASON_H_
