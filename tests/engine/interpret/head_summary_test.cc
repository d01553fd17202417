#include "engine/interpret/head_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;

// f32 logarithms of relative error 1e-7, and printed references of six digits.
constexpr double kTolerance = 1e-5;

TokenRoles NoRoles(int64_t seq) {
  const std::vector<bool> none(static_cast<size_t>(seq), false);
  return {.first_is_special = false, .separator = none, .punctuation = none};
}

// [CLS] ... [SEP]
TokenRoles TextRoles(int64_t seq) {
  TokenRoles roles = NoRoles(seq);
  roles.first_is_special = true;
  roles.separator.back() = true;
  return roles;
}

// Row i gives everything to token i + step, or to itself where there is none.
Matrix Shift(int64_t seq, int64_t step) {
  Matrix weights(seq, seq);
  for (int64_t i = 0; i < seq; ++i) {
    const int64_t to = i + step;
    weights.view().at(i, to >= 0 && to < seq ? to : i) = 1;
  }
  return weights;
}

Matrix Uniform(int64_t seq) {
  Matrix weights(seq, seq);
  for (float& weight : weights.span()) weight = 1 / static_cast<float>(seq);
  return weights;
}

// All rows to one column.
Matrix AllTo(int64_t seq, int64_t column) {
  Matrix weights(seq, seq);
  for (int64_t i = 0; i < seq; ++i) weights.view().at(i, column) = 1;
  return weights;
}

TEST(HeadSummaryTest, HasTheNumbersWorkedByHand) {
  const HeadSummary summary =
      SummarizeHead(MatrixOf({{.5, .25, .25}, {.2, .6, .2}, {.1, .1, .8}}).view(), NoRoles(3));
  EXPECT_NEAR(summary.self_mass, .633333, kTolerance);
  EXPECT_NEAR(summary.previous_mass, .1, kTolerance);
  EXPECT_NEAR(summary.next_mass, .15, kTolerance);
  EXPECT_NEAR(summary.distance, .483333, kTolerance);
  EXPECT_NEAR(summary.offset, .15, kTolerance);
  EXPECT_NEAR(summary.entropy, .876387, kTolerance);
  EXPECT_NEAR(summary.confidence, .633333, kTolerance);
  EXPECT_NEAR(summary.first_mass, .266667, kTolerance);
  EXPECT_EQ(summary.cls_mass, 0);
}

TEST(HeadSummaryTest, TellsThePreviousTokenFromTheNext) {
  constexpr int64_t kSeq = 10;
  const HeadSummary previous = SummarizeHead(Shift(kSeq, -1).view(), TextRoles(kSeq));
  EXPECT_DOUBLE_EQ(previous.previous_mass, 0.9);
  EXPECT_DOUBLE_EQ(previous.next_mass, 0);
  EXPECT_DOUBLE_EQ(previous.previous_share, 0.9);
  EXPECT_DOUBLE_EQ(previous.offset, -0.9);
  EXPECT_EQ(previous.label(), HeadLabel::kPrevious);

  const HeadSummary next = SummarizeHead(Shift(kSeq, 1).view(), TextRoles(kSeq));
  EXPECT_DOUBLE_EQ(next.next_mass, 0.9);
  EXPECT_DOUBLE_EQ(next.previous_mass, 0);
  EXPECT_DOUBLE_EQ(next.next_share, 0.9);
  EXPECT_EQ(next.label(), HeadLabel::kNext);
}

TEST(HeadSummaryTest, AUniformHeadIsBroad) {
  for (const int64_t seq : {2, 5, 128, 300}) {
    const HeadSummary summary = SummarizeHead(Uniform(seq).view(), NoRoles(seq));
    const auto n = static_cast<double>(seq);
    EXPECT_NEAR(summary.entropy, std::log(n), kTolerance) << seq;
    EXPECT_NEAR(summary.entropy_normalized, 1, kTolerance) << seq;
    EXPECT_NEAR(summary.support, n, kTolerance * n) << seq;
    EXPECT_NEAR(summary.distance, (n * n - 1) / (3 * n), kTolerance * n) << seq;
    EXPECT_NEAR(summary.offset, 0, kTolerance * n) << seq;
    EXPECT_NEAR(summary.symmetry, 1, kTolerance) << seq;
    EXPECT_TRUE(summary.broad()) << seq;
    EXPECT_FALSE(SummarizeHead(AllTo(seq, 0).view(), NoRoles(seq)).broad()) << seq;
  }
}

TEST(HeadSummaryTest, AOneHotHeadIsFocusedWithFiniteEntropy) {
  const HeadSummary summary = SummarizeHead(Shift(128, 0).view(), NoRoles(128));
  EXPECT_GT(summary.entropy, 0);
  EXPECT_LT(summary.entropy, 0.01);
  EXPECT_DOUBLE_EQ(summary.self_mass, 1);
  EXPECT_DOUBLE_EQ(summary.distance, 0);
  EXPECT_DOUBLE_EQ(summary.confidence, 1);
  EXPECT_DOUBLE_EQ(summary.locality, 1);
  EXPECT_TRUE(summary.focused());
}

TEST(HeadSummaryTest, LabelsWhatAHeadLooksAt) {
  TokenRoles roles = TextRoles(8);
  roles.punctuation[6] = true;
  EXPECT_EQ(SummarizeHead(AllTo(8, 0).view(), roles).label(), HeadLabel::kCls);
  EXPECT_EQ(SummarizeHead(AllTo(8, 7).view(), roles).label(), HeadLabel::kSeparator);
  EXPECT_EQ(SummarizeHead(AllTo(8, 6).view(), roles).label(), HeadLabel::kPunctuation);
  EXPECT_EQ(SummarizeHead(AllTo(8, 3).view(), roles).label(), HeadLabel::kNone);
  EXPECT_EQ(SummarizeHead(Uniform(8).view(), roles).label(), HeadLabel::kBroad);
}

TEST(HeadSummaryTest, ConfidenceLeavesTheLastSeparatorOut) {
  EXPECT_DOUBLE_EQ(SummarizeHead(AllTo(8, 7).view(), TextRoles(8)).confidence, 0);
  EXPECT_DOUBLE_EQ(SummarizeHead(AllTo(8, 7).view(), NoRoles(8)).confidence, 1);
}

TEST(HeadSummaryTest, SeparatesSeparatorsRowsFromTheRest) {
  TokenRoles roles = TextRoles(4);
  roles.separator[1] = true;
  const HeadSummary summary = SummarizeHead(
      MatrixOf({{1, 0, 0, 0}, {0, .5, 0, .25}, {0, .25, .5, .25}, {0, 0, 0, 1}}).view(), roles);
  EXPECT_DOUBLE_EQ(summary.separator_to_separator, (.75 + 1) / 2);
  EXPECT_DOUBLE_EQ(summary.rest_to_separator, .5 / 2);
  EXPECT_DOUBLE_EQ(summary.separator_mass, 2.25 / 4);
}

TEST(HeadSummaryTest, SymmetryComparesWithTheTranspose) {
  EXPECT_DOUBLE_EQ(SummarizeHead(MatrixOf({{.5, .5}, {.5, .5}}).view(), NoRoles(2)).symmetry, 1);
  // Off the diagonal nothing agrees: |1 - 0| twice, over 2 * 3, and so for both pairs.
  EXPECT_NEAR(
      SummarizeHead(MatrixOf({{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}).view(), NoRoles(3)).symmetry, 0,
      1e-12);
}

TEST(HeadSummaryTest, OneTokenLooksAtItself) {
  const HeadSummary summary = SummarizeHead(MatrixOf({{1}}).view(), NoRoles(1));
  EXPECT_DOUBLE_EQ(summary.self_mass, 1);
  EXPECT_EQ(summary.entropy_normalized, 0);
  EXPECT_NEAR(summary.entropy, 0, kTolerance);
}

TEST(HeadSummaryTest, EntropyIsTheDoublePrecisionOne) {
  for (const int64_t seq : {3, 17, 129, 512}) {
    Matrix weights = RandomMatrix(seq, seq, 7);
    double expected = 0;
    for (int64_t i = 0; i < seq; ++i) {
      double sum = 0;
      // Sharp and flat rows: scores within [-i/8, i/8).
      for (float& value : weights.row(i)) {
        value = std::exp(value * static_cast<float>(i) / 8);
        sum += value;
      }
      for (float& value : weights.row(i)) {
        value = static_cast<float>(value / sum);
        const double smooth = 0.9999 * value + 0.0001 / static_cast<double>(seq);
        expected -= smooth * std::log(smooth) / static_cast<double>(seq);
      }
    }
    EXPECT_NEAR(SummarizeHead(weights.view(), NoRoles(seq)).entropy, expected, 2e-6) << seq;
  }
}

}  // namespace
}  // namespace attune
