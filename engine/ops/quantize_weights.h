// Private to engine/ops: weights as s8 with a scale per output.
#ifndef ATTUNE_ENGINE_OPS_QUANTIZE_WEIGHTS_H_
#define ATTUNE_ENGINE_OPS_QUANTIZE_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "engine/tensor/matrix.h"

namespace attune::internal {

// weights[o][i] = scales[o] * values[o][i], values in [-127, 127].
struct QuantizedWeights {
  int64_t out = 0;
  int64_t in = 0;
  std::vector<int8_t> values;  // [out, in]
  std::vector<float> scales;   // [out]
  // scales[o] * (sum over i of values[o][i]): an input's least value counts once for each weight.
  std::vector<float> column_sums;  // [out]
};

// Symmetric, rounded to nearest even: scales[o] = max |row o| / 127; a row of zeros has scale 0.
// REQUIRES: finite weights; in <= 65536, so that no sum of products overflows 32 bits.
QuantizedWeights QuantizeWeights(ConstMatrixView weights);

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_QUANTIZE_WEIGHTS_H_
