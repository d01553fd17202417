#include "engine/interpret/attend_score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/interpret/matrix_product.h"

namespace attune {
namespace {

void ScoreAdditive(ConstMatrixView queries, ConstMatrixView keys_transposed,
                   absl::Span<const float> additive_vector, MatrixView scores) {
  std::vector<double> sums(static_cast<size_t>(scores.cols));
  for (int64_t i = 0; i < queries.rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t k = 0; k < queries.cols; ++k) {
      const double query = queries.at(i, k);
      const double factor = additive_vector[static_cast<size_t>(k)];
      const absl::Span<const float> keys = keys_transposed.row(k);
      for (size_t j = 0; j < sums.size(); ++j) sums[j] += factor * std::tanh(query + keys[j]);
    }
    std::transform(sums.begin(), sums.end(), scores.row(i).begin(),
                   [](double sum) { return static_cast<float>(sum); });
  }
}

void Softmax(absl::Span<const float> scores, absl::Span<const int64_t> visible,
             absl::Span<float> weights) {
  double max = -std::numeric_limits<double>::infinity();
  for (const int64_t key : visible) {
    max = std::max(max, double{scores[static_cast<size_t>(key)]});
  }
  std::vector<double> exponentials;
  exponentials.reserve(visible.size());
  double sum = 0;
  for (const int64_t key : visible) {
    exponentials.push_back(std::exp(scores[static_cast<size_t>(key)] - max));
    sum += exponentials.back();
  }
  for (size_t n = 0; n < visible.size(); ++n) {
    weights[static_cast<size_t>(visible[n])] = static_cast<float>(exponentials[n] / sum);
  }
}

}  // namespace

void ScoreQueries(AttendScore score, ConstMatrixView queries, ConstMatrixView keys_transposed,
                  absl::Span<const float> additive_vector, MatrixView scores) {
  switch (score) {
    case AttendScore::kScaledDot:
      return Multiply(queries, keys_transposed, 1 / std::sqrt(static_cast<double>(queries.cols)),
                      scores);
    case AttendScore::kDot:
      return Multiply(queries, keys_transposed, 1, scores);
    case AttendScore::kAdditive:
      return ScoreAdditive(queries, keys_transposed, additive_vector, scores);
  }
}

void NormalizeScores(AttendNormalizer normalizer, absl::Span<const float> scores,
                     absl::Span<const int64_t> visible, absl::Span<float> weights) {
  switch (normalizer) {
    case AttendNormalizer::kSoftmax:
      return Softmax(scores, visible, weights);
    case AttendNormalizer::kRelu:
      for (const int64_t key : visible) {
        const auto j = static_cast<size_t>(key);
        weights[j] = std::max(0.0F, scores[j]);
      }
      return;
  }
}

}  // namespace attune
