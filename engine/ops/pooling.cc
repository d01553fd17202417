#include "engine/ops/pooling.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace attune {
namespace {

// dst = sum over tokens of weight(i) * tokens[i].
template <typename Weight>
void WeightedSum(ConstMatrixView tokens, Weight weight, absl::Span<float> dst) {
  std::fill(dst.begin(), dst.end(), 0.0f);
  for (int64_t i = 0; i < tokens.rows; ++i) {
    const absl::Span<const float> row = tokens.row(i);
    const float w = weight(i);
    for (size_t j = 0; j < dst.size(); ++j) dst[j] += w * row[j];
  }
}

void Divide(absl::Span<float> dst, float divisor) {
  for (float& value : dst) value /= divisor;
}

void ColumnMax(ConstMatrixView tokens, absl::Span<float> dst) {
  std::copy_n(tokens.row(0).data(), dst.size(), dst.data());
  for (int64_t i = 1; i < tokens.rows; ++i) {
    const absl::Span<const float> row = tokens.row(i);
    // A NaN stays: it must reach the finiteness check, not vanish in a comparison.
    for (size_t j = 0; j < dst.size(); ++j) {
      if (row[j] > dst[j] || std::isnan(row[j])) dst[j] = row[j];
    }
  }
}

}  // namespace

absl::string_view PoolingModeName(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kCls:
      return "cls";
    case PoolingMode::kMax:
      return "max";
    case PoolingMode::kMean:
      return "mean";
    case PoolingMode::kMeanSqrtLen:
      return "mean_sqrt_len_tokens";
    case PoolingMode::kWeightedMean:
      return "weightedmean";
    case PoolingMode::kLastToken:
      return "lasttoken";
  }
  return "";
}

void Pool(PoolingMode mode, ConstMatrixView tokens, absl::Span<float> dst) {
  ATTUNE_CHECK(tokens.rows >= 1 && tokens.cols == static_cast<int64_t>(dst.size()));
  const auto seq = static_cast<float>(tokens.rows);
  const auto one = [](int64_t) { return 1.0f; };
  switch (mode) {
    case PoolingMode::kCls:
      std::copy_n(tokens.row(0).data(), dst.size(), dst.data());
      return;
    case PoolingMode::kMax:
      ColumnMax(tokens, dst);
      return;
    case PoolingMode::kMean:
      WeightedSum(tokens, one, dst);
      Divide(dst, seq);
      return;
    case PoolingMode::kMeanSqrtLen:
      WeightedSum(tokens, one, dst);
      Divide(dst, std::sqrt(seq));
      return;
    case PoolingMode::kWeightedMean:
      WeightedSum(
          tokens, [](int64_t i) { return static_cast<float>(i + 1); }, dst);
      Divide(dst, seq * (seq + 1) / 2);
      return;
    case PoolingMode::kLastToken:
      std::copy_n(tokens.row(tokens.rows - 1).data(), dst.size(), dst.data());
      return;
  }
}

void NormalizeL2(absl::Span<float> vector) {
  constexpr double kSmallestNorm = 1e-12;
  double sum_of_squares = 0;
  for (const float value : vector) sum_of_squares += static_cast<double>(value) * value;
  Divide(vector, static_cast<float>(std::max(std::sqrt(sum_of_squares), kSmallestNorm)));
}

}  // namespace attune
