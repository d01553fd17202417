#include "engine/model/head_ablation.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace attune {

void AblateHead(AblationMode mode, const AttentionWindow& window, ConstMatrixView values,
                MatrixView dst) {
  ATTUNE_CHECK(mode != AblationMode::kNone);
  ATTUNE_CHECK(values.rows == dst.rows && values.cols == dst.cols);
  if (mode == AblationMode::kZero) {
    for (int64_t i = 0; i < dst.rows; ++i) std::fill(dst.row(i).begin(), dst.row(i).end(), 0.0f);
    return;
  }
  // sums[i] of the rows before i, so that any run of rows is a difference.
  const auto cols = static_cast<size_t>(values.cols);
  std::vector<std::vector<double>> sums = {std::vector<double>(cols)};
  for (int64_t i = 0; i < values.rows; ++i) {
    std::vector<double> sum = sums.back();
    for (size_t k = 0; k < cols; ++k) sum[k] += double{values.row(i)[k]};
    sums.push_back(std::move(sum));
  }
  for (int64_t i = 0; i < dst.rows; ++i) {
    const int64_t begin = window.begin(i);
    const int64_t end = window.end(i, dst.rows);
    const std::vector<double>& before = sums[static_cast<size_t>(begin)];
    const std::vector<double>& through = sums[static_cast<size_t>(end)];
    for (size_t k = 0; k < cols; ++k) {
      dst.row(i)[k] =
          static_cast<float>((through[k] - before[k]) / static_cast<double>(end - begin));
    }
  }
}

Matrix AblatedWeights(AblationMode mode, const AttentionWindow& window, int64_t seq) {
  ATTUNE_CHECK(mode != AblationMode::kNone);
  Matrix weights(seq, seq);  // zeros
  for (int64_t i = 0; mode == AblationMode::kUniform && i < seq; ++i) {
    const int64_t begin = window.begin(i);
    const int64_t end = window.end(i, seq);
    const auto weight = static_cast<float>(1.0 / static_cast<double>(end - begin));
    std::fill(weights.row(i).begin() + begin, weights.row(i).begin() + end, weight);
  }
  return weights;
}

}  // namespace attune
