#include "engine/ops/quantize_weights.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace attune::internal {

QuantizedWeights QuantizeWeights(ConstMatrixView weights) {
  ATTUNE_CHECK(weights.cols <= 65536);
  QuantizedWeights result;
  result.out = weights.rows;
  result.in = weights.cols;
  result.values.reserve(static_cast<size_t>(weights.rows * weights.cols));
  for (int64_t o = 0; o < weights.rows; ++o) {
    float largest = 0;
    for (const float weight : weights.row(o)) largest = std::max(largest, std::fabs(weight));
    const float scale = largest / 127.0f;
    const float inverse = largest > 0 ? 127.0f / largest : 0.0f;
    int32_t sum = 0;
    for (const float weight : weights.row(o)) {
      const auto value = static_cast<int8_t>(std::nearbyint(weight * inverse));
      result.values.push_back(value);
      sum += value;
    }
    result.scales.push_back(scale);
    result.column_sums.push_back(scale * static_cast<float>(sum));
  }
  return result;
}

}  // namespace attune::internal
