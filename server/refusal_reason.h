// Why a call was refused though nothing was wrong with it, as a name that metrics and logs share.
#ifndef ATTUNE_SERVER_REFUSAL_REASON_H_
#define ATTUNE_SERVER_REFUSAL_REASON_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace attune {

// The closed set by which refusals are counted. The last stands for any other.
inline constexpr std::array<absl::string_view, 9> kRefusalReasons = {
    "QUEUE_FULL",    "PENDING_BYTES_FULL", "ATTENTION_BUDGET_FULL",
    "OUT_OF_MEMORY", "OUT_OF_DESCRIPTORS", "DEADLINE_UNREACHABLE",
    "LOADING",       "DRAINING",           "OTHER",
};

// The reason in the google.rpc.ErrorInfo that `status` carries; empty without one.
std::string ErrorInfoReason(const absl::Status& status);

// Which of kRefusalReasons `status` is: nothing unless it is kResourceExhausted or kUnavailable.
std::optional<size_t> RefusalReasonIndex(const absl::Status& status);

}  // namespace attune

#endif  // ATTUNE_SERVER_REFUSAL_REASON_H_
