// Attend against the formulas written out in double precision.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "engine/interpret/attend.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::RandomMatrix;

// Five steps, each rounded to f32 once (2^-24 = 6e-8 relative to its largest value). An error of a
// score, up to 20 here, multiplies a softmax weight by exp of itself: 20 * 6e-8 = 1.2e-6 is the
// largest part, and 2e-6 of the largest output covers the sum.
constexpr double kRelativeTolerance = 2e-6;

using Table = std::vector<std::vector<double>>;

Table TableOf(const Matrix& matrix) {
  Table table;
  for (int64_t i = 0; i < matrix.rows(); ++i) {
    table.emplace_back(matrix.row(i).begin(), matrix.row(i).end());
  }
  return table;
}

Table Product(const Table& left, const Table& right) {
  Table product(left.size(), std::vector<double>(right[0].size()));
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t k = 0; k < right.size(); ++k) {
      for (size_t j = 0; j < right[0].size(); ++j) product[i][j] += left[i][k] * right[k][j];
    }
  }
  return product;
}

double Score(const AttendInput& input, const Table& queries, const Table& keys, size_t i, size_t j,
             size_t first_column, size_t head_dim) {
  double score = 0;
  for (size_t k = first_column; k < first_column + head_dim; ++k) {
    if (input.score == AttendScore::kAdditive) {
      score += input.additive_vector.row(0)[k] * std::tanh(queries[i][k] + keys[j][k]);
    } else {
      score += queries[i][k] * keys[j][k];
    }
  }
  return input.score == AttendScore::kScaledDot ? score / std::sqrt(double(head_dim)) : score;
}

std::vector<double> Normalized(AttendNormalizer normalizer, std::vector<double> scores) {
  if (normalizer == AttendNormalizer::kRelu) {
    for (double& score : scores) score = std::max(score, 0.0);
    return scores;
  }
  double sum = 0;
  for (const double score : scores) sum += std::exp(score);
  for (double& score : scores) score = std::exp(score) / sum;
  return scores;
}

Table ReferenceOutputs(const AttendInput& input) {
  const Table vectors = TableOf(input.vectors);
  const Table queries = Product(vectors, TableOf(input.query_projection));
  const Table keys = Product(vectors, TableOf(input.key_projection));
  const Table values = Product(vectors, TableOf(input.value_projection));
  const auto heads = static_cast<size_t>(input.heads);
  const size_t head_dim = queries[0].size() / heads;
  const size_t value_dim = values[0].size() / heads;
  Table outputs(vectors.size(), std::vector<double>(values[0].size()));
  for (size_t head = 0; head < heads; ++head) {
    for (size_t i = 0; i < vectors.size(); ++i) {
      std::vector<double> scores;
      for (size_t j = 0; j < vectors.size(); ++j) {
        scores.push_back(Score(input, queries, keys, i, j, head * head_dim, head_dim));
      }
      const std::vector<double> weights = Normalized(input.normalizer, scores);
      for (size_t j = 0; j < vectors.size(); ++j) {
        for (size_t c = head * value_dim; c < (head + 1) * value_dim; ++c) {
          outputs[i][c] += weights[j] * values[j][c];
        }
      }
    }
  }
  return Product(outputs, TableOf(input.output_projection));
}

struct Shape {
  int64_t seq, dim, heads, head_dim, value_dim;
};

class AttendReferenceTest
    : public ::testing::TestWithParam<std::tuple<AttendScore, AttendNormalizer, Shape>> {};

TEST_P(AttendReferenceTest, EqualsTheFormulaInDouble) {
  const auto& [score, normalizer, shape] = GetParam();
  AttendInput input;
  input.vectors = RandomMatrix(shape.seq, shape.dim, 1);
  input.query_projection = RandomMatrix(shape.dim, shape.heads * shape.head_dim, 2);
  input.key_projection = RandomMatrix(shape.dim, shape.heads * shape.head_dim, 3);
  input.value_projection = RandomMatrix(shape.dim, shape.heads * shape.value_dim, 4);
  input.output_projection = RandomMatrix(shape.heads * shape.value_dim, 5, 5);
  input.heads = shape.heads;
  input.score = score;
  input.normalizer = normalizer;
  if (score == AttendScore::kAdditive) {
    input.additive_vector = RandomMatrix(1, shape.heads * shape.head_dim, 6);
  }
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  const Table expected = ReferenceOutputs(input);
  const Table actual = TableOf(result.outputs);
  double largest = 0;
  for (const std::vector<double>& row : expected) {
    for (const double value : row) largest = std::max(largest, std::abs(value));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t j = 0; j < expected[i].size(); ++j) {
      ASSERT_NEAR(actual[i][j], expected[i][j], kRelativeTolerance * largest)
          << "row " << i << ", column " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttendReferenceTest,
    ::testing::Combine(::testing::Values(AttendScore::kScaledDot, AttendScore::kDot,
                                         AttendScore::kAdditive),
                       ::testing::Values(AttendNormalizer::kSoftmax, AttendNormalizer::kRelu),
                       ::testing::Values(Shape{1, 1, 1, 1, 1}, Shape{3, 4, 1, 3, 3},
                                         Shape{33, 17, 3, 5, 7}, Shape{97, 24, 64, 2, 1})));

}  // namespace
}  // namespace attune
