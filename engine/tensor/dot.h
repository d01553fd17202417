#ifndef ATTUNE_ENGINE_TENSOR_DOT_H_
#define ATTUNE_ENGINE_TENSOR_DOT_H_

#include "absl/types/span.h"

namespace attune {

// The dot product of two vectors of one length, summed in f64. In lanes, so that it is vectorised
// without changing from one compiler to another. Thread-safe.
double Dot(absl::Span<const float> a, absl::Span<const float> b);

}  // namespace attune

#endif  // ATTUNE_ENGINE_TENSOR_DOT_H_
