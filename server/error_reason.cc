#include "server/error_reason.h"

namespace attune {

absl::string_view ErrorReasonName(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kQueueFull:
      return "QUEUE_FULL";
    case ErrorReason::kPendingBytesFull:
      return "PENDING_BYTES_FULL";
    case ErrorReason::kCallsBudgetFull:
      return "CALLS_BUDGET_FULL";
    case ErrorReason::kAttentionBudgetFull:
      return "ATTENTION_BUDGET_FULL";
    case ErrorReason::kStreamsFull:
      return "STREAMS_FULL";
    case ErrorReason::kOutOfMemory:
      return "OUT_OF_MEMORY";
    case ErrorReason::kOutOfDescriptors:
      return "OUT_OF_DESCRIPTORS";
    case ErrorReason::kDeadlineUnreachable:
      return "DEADLINE_UNREACHABLE";
    case ErrorReason::kLoading:
      return "LOADING";
    case ErrorReason::kDraining:
      return "DRAINING";
    case ErrorReason::kModelUnfit:
      return "MODEL_UNFIT";
    case ErrorReason::kNotBuilt:
      return "NOT_BUILT";
    case ErrorReason::kNonfiniteOutput:
      return "NONFINITE_OUTPUT";
    case ErrorReason::kInternalFault:
      break;
  }
  return "INTERNAL_FAULT";
}

}  // namespace attune
