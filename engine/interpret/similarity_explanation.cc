#include "engine/interpret/similarity_explanation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/not_finite_error.h"
#include "engine/interpret/matrix_product.h"

namespace attune {
namespace {

// The weight of token i in the mean, up to a factor, which no cosine depends on.
double Weight(PoolingMode mode, int64_t token) {
  return mode == PoolingMode::kWeightedMean ? static_cast<double>(token + 1) : 1.0;
}

std::vector<double> WeightedSum(PoolingMode mode, ConstMatrixView tokens) {
  std::vector<double> sum(static_cast<size_t>(tokens.cols));
  for (int64_t i = 0; i < tokens.rows; ++i) {
    const absl::Span<const float> row = tokens.row(i);
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += Weight(mode, i) * double{row[j]};
  }
  return sum;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

bool IsTokenMean(PoolingMode mode) {
  return mode == PoolingMode::kMean || mode == PoolingMode::kMeanSqrtLen ||
         mode == PoolingMode::kWeightedMean;
}

absl::StatusOr<SimilarityExplanation> ExplainSimilarity(PoolingMode mode, ConstMatrixView first,
                                                        ConstMatrixView second) {
  ATTUNE_CHECK(first.rows > 0 && second.rows > 0 && first.cols == second.cols);
  if (!IsTokenMean(mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the pooling is ", PoolingModeName(mode),
                     ", not a mean over tokens; the cosine is then no sum over pairs of tokens"));
  }
  const std::vector<double> a = WeightedSum(mode, first);
  const std::vector<double> b = WeightedSum(mode, second);
  const double lengths = std::sqrt(Dot(a, a)) * std::sqrt(Dot(b, b));

  SimilarityExplanation explanation;
  explanation.contributions = Matrix(first.rows, second.rows);
  if (lengths == 0) return explanation;
  const double cosine = Dot(a, b) / lengths;
  if (!std::isfinite(cosine)) return NotFiniteError("the cosine is not finite");
  explanation.cosine = std::clamp(cosine, -1.0, 1.0);

  const MatrixView contributions = explanation.contributions.view();
  Multiply(first, Transpose(second).view(), 1 / lengths, contributions);
  for (int64_t i = 0; i < contributions.rows; ++i) {
    for (int64_t j = 0; j < contributions.cols; ++j) {
      float& value = contributions.at(i, j);
      value = static_cast<float>(Weight(mode, i) * Weight(mode, j) * double{value});
    }
  }
  return explanation;
}

}  // namespace attune
