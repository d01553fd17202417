// Finding the value that a sum or a softmax would spread over a whole result.
#ifndef ATTUNE_ENGINE_TENSOR_FINITE_H_
#define ATTUNE_ENGINE_TENSOR_FINITE_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace attune {

// The index of the first NaN or infinity, or nothing when all values are finite. Thread-safe.
std::optional<int64_t> FindNotFinite(absl::Span<const float> values);

// Whether every value is finite. Thread-safe.
inline bool AllFinite(absl::Span<const float> values) { return !FindNotFinite(values).has_value(); }

}  // namespace attune

#endif  // ATTUNE_ENGINE_TENSOR_FINITE_H_
