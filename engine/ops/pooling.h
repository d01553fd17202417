// From token vectors to one text vector, as sentence-transformers' Pooling and Normalize modules
// do.
#ifndef ATTUNE_ENGINE_OPS_POOLING_H_
#define ATTUNE_ENGINE_OPS_POOLING_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/matrix.h"

namespace attune {

enum class PoolingMode {
  kCls,           // the first token's vector
  kMax,           // the largest value of each column
  kMean,          // the mean over tokens, specials included
  kMeanSqrtLen,   // the sum over tokens divided by sqrt(tokens)
  kWeightedMean,  // the mean weighted by position, from 1
  kLastToken,     // the last token's vector
};

// The name that sentence-transformers gives it: "cls", "mean_sqrt_len_tokens".
absl::string_view PoolingModeName(PoolingMode mode);

// dst[hidden] = pool(tokens[seq, hidden]), sums in f32 in token order. REQUIRES: seq >= 1.
void Pool(PoolingMode mode, ConstMatrixView tokens, absl::Span<float> dst);

// vector /= max(norm2(vector), 1e-12), so that a zero vector stays zero.
void NormalizeL2(absl::Span<float> vector);

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_POOLING_H_
