// Layer normalisation (Ba et al. 2016).
#ifndef ATTUNE_ENGINE_OPS_LAYER_NORM_H_
#define ATTUNE_ENGINE_OPS_LAYER_NORM_H_

#include "absl/types/span.h"
#include "engine/ops/linear_input.h"
#include "engine/tensor/matrix.h"

namespace attune {

// gamma[hidden], beta[hidden] borrowed for the call; epsilon is added to the population variance.
struct LayerNormParams {
  absl::Span<const float> gamma;
  absl::Span<const float> beta;
  float epsilon = 0;
};

// rows[tokens, hidden] = layer_norm(rows), in place, each row by itself, statistics in f32.
void LayerNorm(const LayerNormParams& params, MatrixView rows);

// The same, and dst = the result as a linear layer reads it, while each row is in the L1 cache.
void LayerNorm(const LayerNormParams& params, MatrixView rows, LinearInputView dst);

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_LAYER_NORM_H_
