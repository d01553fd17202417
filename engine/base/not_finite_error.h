// The fault of a result that is no number, told apart from other faults.
#ifndef ATTUNE_ENGINE_BASE_NOT_FINITE_ERROR_H_
#define ATTUNE_ENGINE_BASE_NOT_FINITE_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace attune {

// kInternal: `what`, a result of ours, holds a NaN or an infinity. The message is `what`, which is
// a sentence: "the cosine is not finite".
absl::Status NotFiniteError(absl::string_view what);

// Whether NotFiniteError made `error`.
bool IsNotFinite(const absl::Status& error);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_NOT_FINITE_ERROR_H_
