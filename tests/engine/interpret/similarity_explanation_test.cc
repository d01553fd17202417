#include "engine/interpret/similarity_explanation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/numeric.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::DoubleMatrix;
using ::testing::HasSubstr;
using testing::kEps;
using testing::RandomMatrix;
using testing::StatusIs;

std::vector<double> Weights(PoolingMode mode, int64_t tokens) {
  std::vector<double> weights;
  for (int64_t i = 0; i < tokens; ++i) {
    weights.push_back(mode == PoolingMode::kWeightedMean ? static_cast<double>(i + 1) : 1.0);
  }
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
  return weights;
}

struct Reference {
  double cosine = 0;
  DoubleMatrix contributions;
  double largest = 0;
};

// The definition, term by term.
Reference Explain(PoolingMode mode, ConstMatrixView first, ConstMatrixView second) {
  const std::vector<double> w = Weights(mode, first.rows);
  const std::vector<double> v = Weights(mode, second.rows);
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (int64_t d = 0; d < first.cols; ++d) {
    double a = 0;
    double b = 0;
    for (int64_t i = 0; i < first.rows; ++i) a += w[static_cast<size_t>(i)] * first.at(i, d);
    for (int64_t j = 0; j < second.rows; ++j) b += v[static_cast<size_t>(j)] * second.at(j, d);
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  const double lengths = std::sqrt(aa) * std::sqrt(bb);
  Reference reference{ab / lengths, DoubleMatrix(first.rows, second.rows), 0};
  for (int64_t i = 0; i < first.rows; ++i) {
    for (int64_t j = 0; j < second.rows; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < first.cols; ++d) dot += double{first.at(i, d)} * second.at(j, d);
      const double share = w[static_cast<size_t>(i)] * v[static_cast<size_t>(j)] * dot / lengths;
      reference.contributions.at(i, j) = share;
      reference.largest = std::max(reference.largest, std::fabs(share));
    }
  }
  return reference;
}

class MeanTest : public ::testing::TestWithParam<PoolingMode> {};

TEST_P(MeanTest, EachPairsShareIsTheDefinitionsAndTheyAddUpToTheCosine) {
  const std::vector<std::pair<int64_t, int64_t>> lengths = {{1, 1}, {2, 9}, {31, 7}};
  for (const auto& [n, m] : lengths) {
    const Matrix first = RandomMatrix(n, 48, 2.0f, 1);
    const Matrix second = RandomMatrix(m, 48, 2.0f, 2);
    const Reference expected = Explain(GetParam(), first.view(), second.view());
    ATTUNE_ASSERT_OK_AND_ASSIGN(const SimilarityExplanation explanation,
                                ExplainSimilarity(GetParam(), first.view(), second.view()));
    // f64 throughout, in two orders of summation.
    EXPECT_NEAR(explanation.cosine, expected.cosine, 1e-12);
    // Rounded to f32 twice, half a spacing each.
    EXPECT_THAT(explanation.contributions.view(),
                AllNear(expected.contributions, kEps * expected.largest));
    double sum = 0;
    for (const float share : explanation.contributions.span()) sum += share;
    EXPECT_NEAR(sum, explanation.cosine,
                static_cast<double>(n * m) * kEps * expected.largest + 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, MeanTest,
                         ::testing::Values(PoolingMode::kMean, PoolingMode::kMeanSqrtLen,
                                           PoolingMode::kWeightedMean));

TEST(SimilarityExplanationTest, ATextIsAsSimilarToItselfAsCanBe) {
  const Matrix tokens = RandomMatrix(6, 16, 1.0f, 3);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const SimilarityExplanation explanation,
                              ExplainSimilarity(PoolingMode::kMean, tokens.view(), tokens.view()));
  EXPECT_NEAR(explanation.cosine, 1.0, 1e-15);
  const ConstMatrixView shares = explanation.contributions.view();
  for (int64_t i = 0; i < shares.rows; ++i) {
    for (int64_t j = 0; j < i; ++j) EXPECT_EQ(shares.at(i, j), shares.at(j, i));
  }
}

TEST(SimilarityExplanationTest, AZeroVectorHasNoSimilarityToExplain) {
  const Matrix zero(2, 8);
  const Matrix tokens = RandomMatrix(3, 8, 1.0f, 4);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const SimilarityExplanation explanation,
                              ExplainSimilarity(PoolingMode::kMean, zero.view(), tokens.view()));
  EXPECT_EQ(explanation.cosine, 0.0);
  for (const float share : explanation.contributions.span()) EXPECT_EQ(share, 0.0f);
}

TEST(SimilarityExplanationTest, RefusesPoolingsThatAreNoMeanByName) {
  const Matrix tokens = RandomMatrix(3, 8, 1.0f, 5);
  for (const PoolingMode mode : {PoolingMode::kCls, PoolingMode::kMax, PoolingMode::kLastToken}) {
    EXPECT_FALSE(IsTokenMean(mode));
    EXPECT_THAT(ExplainSimilarity(mode, tokens.view(), tokens.view()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(std::string(PoolingModeName(mode)))));
  }
}

TEST(SimilarityExplanationTest, TokenVectorsThatAreNotFiniteAreAFault) {
  Matrix tokens = RandomMatrix(3, 8, 1.0f, 6);
  tokens.row(1)[2] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(ExplainSimilarity(PoolingMode::kMean, tokens.view(), tokens.view()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
}

}  // namespace
}  // namespace attune
