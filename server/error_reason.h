// Why the server failed or refused a request, for programs.
#ifndef ATTUNE_SERVER_ERROR_REASON_H_
#define ATTUNE_SERVER_ERROR_REASON_H_

#include "absl/strings/string_view.h"

namespace attune {

// A closed list, part of the API: README.md says for each when it happens and what to do. A wrong
// field of a request has no reason; a BadRequest names it.
enum class ErrorReason {
  // A limit that all requests share was met; it helps to try again later.
  kQueueFull,
  kPendingBytesFull,
  kCallsBudgetFull,
  kAttentionBudgetFull,
  kStreamsFull,
  kOutOfMemory,
  kOutOfDescriptors,
  kDeadlineUnreachable,
  // The server does not serve now; it helps to try again, elsewhere if possible.
  kLoading,
  kDraining,
  // It never helps to try again.
  kModelUnfit,
  kNotBuilt,
  kNonfiniteOutput,
  kInternalFault,
};

// E.g. "QUEUE_FULL".
absl::string_view ErrorReasonName(ErrorReason reason);

}  // namespace attune

#endif  // ATTUNE_SERVER_ERROR_REASON_H_
