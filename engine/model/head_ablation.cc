#include "engine/model/head_ablation.h"

#include <algorithm>

#include "engine/base/check.h"

namespace attune {

void AblateHead(AblationMode mode, ConstMatrixView values, MatrixView dst) {
  ATTUNE_CHECK(mode != AblationMode::kNone);
  ATTUNE_CHECK(values.rows == dst.rows && values.cols == dst.cols);
  std::vector<double> sums(static_cast<size_t>(dst.cols), 0.0);
  if (mode == AblationMode::kUniform) {
    for (int64_t i = 0; i < values.rows; ++i) {
      const absl::Span<const float> row = values.row(i);
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += double{row[k]};
    }
  }
  const auto seq = static_cast<double>(values.rows);
  for (int64_t i = 0; i < dst.rows; ++i) {
    std::transform(sums.begin(), sums.end(), dst.row(i).begin(),
                   [seq](double sum) { return static_cast<float>(sum / seq); });
  }
}

Matrix AblatedWeights(AblationMode mode, int64_t seq) {
  ATTUNE_CHECK(mode != AblationMode::kNone);
  Matrix weights(seq, seq);  // zeros
  if (mode == AblationMode::kUniform) {
    const auto weight = static_cast<float>(1.0 / static_cast<double>(seq));
    std::fill(weights.span().begin(), weights.span().end(), weight);
  }
  return weights;
}

}  // namespace attune
