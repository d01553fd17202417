#include "engine/ops/pooling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/tensor/finite.h"
#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/reference_ops.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::DoubleMatrix;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using testing::RandomMatrix;
using testing::ReferencePool;

constexpr PoolingMode kModes[] = {PoolingMode::kCls,          PoolingMode::kMax,
                                  PoolingMode::kMean,         PoolingMode::kMeanSqrtLen,
                                  PoolingMode::kWeightedMean, PoolingMode::kLastToken};

std::vector<float> Pooled(PoolingMode mode, ConstMatrixView tokens) {
  std::vector<float> dst(static_cast<size_t>(tokens.cols), -1.0f);
  Pool(mode, tokens, absl::MakeSpan(dst));
  return dst;
}

TEST(PoolingTest, MatchesTheReferenceInEveryMode) {
  for (const int64_t seq : {1, 2, 17, 300, 512}) {
    const Matrix tokens = RandomMatrix(seq, 41, 1.0f, static_cast<uint32_t>(seq));
    // Partial sums reach sqrt(seq), of values times seq in the weighted mean before its division;
    // sqrt(seq) roundings of that.
    const double tolerance = 4 * testing::kEps * std::sqrt(static_cast<double>(seq));
    for (const PoolingMode mode : kModes) {
      const std::vector<float> actual = Pooled(mode, tokens.view());
      DoubleMatrix expected(1, 41);
      expected.values = ReferencePool(mode, DoubleMatrix(tokens.view()));
      EXPECT_THAT(ConstMatrixView(actual.data(), 1, 41), AllNear(expected, tolerance))
          << "seq " << seq << " mode " << static_cast<int>(mode);
    }
  }
}

// C26: the published formulas on three tokens; a padding row never exists here.
TEST(PoolingTest, GivesTheWorkedValues) {
  constexpr float kPrinted = 1e-6f;
  Matrix tokens(3, 2);
  for (int64_t i = 0; i < 3; ++i) {
    tokens.view().at(i, 0) = static_cast<float>(i + 1);
    tokens.view().at(i, 1) = static_cast<float>(10 * (i + 1));
  }
  EXPECT_THAT(Pooled(PoolingMode::kCls, tokens.view()), ElementsAre(1, 10));
  EXPECT_THAT(Pooled(PoolingMode::kMax, tokens.view()), ElementsAre(3, 30));
  EXPECT_THAT(Pooled(PoolingMode::kMean, tokens.view()), ElementsAre(2, 20));
  EXPECT_THAT(Pooled(PoolingMode::kMeanSqrtLen, tokens.view()),
              ElementsAre(FloatNear(3.4641016f, kPrinted), FloatNear(34.6410162f, 10 * kPrinted)));
  EXPECT_THAT(Pooled(PoolingMode::kWeightedMean, tokens.view()),
              ElementsAre(FloatNear(2.3333333f, kPrinted), FloatNear(23.3333333f, 10 * kPrinted)));
  EXPECT_THAT(Pooled(PoolingMode::kLastToken, tokens.view()), ElementsAre(3, 30));
}

// C35: what overflows or stalls in half precision does not here.
TEST(PoolingTest, SumsInSinglePrecision) {
  Matrix tokens(512, 1);
  std::fill(tokens.span().begin(), tokens.span().end(), 200.0f);
  EXPECT_THAT(Pooled(PoolingMode::kMean, tokens.view()), ElementsAre(200.0f));
  Matrix ones(4096, 1);
  std::fill(ones.span().begin(), ones.span().end(), 1.0f);
  EXPECT_THAT(Pooled(PoolingMode::kMeanSqrtLen, ones.view()), ElementsAre(64.0f));
}

TEST(PoolingTest, NanReachesTheOutputOfEveryModeThatReadsIt) {
  for (const int64_t bad_row : {0, 2}) {
    Matrix tokens = RandomMatrix(3, 1, 1.0f, 1);
    tokens.view().at(bad_row, 0) = std::nanf("");
    for (const PoolingMode mode : {PoolingMode::kMax, PoolingMode::kMean, PoolingMode::kMeanSqrtLen,
                                   PoolingMode::kWeightedMean}) {
      EXPECT_FALSE(AllFinite(Pooled(mode, tokens.view()))) << static_cast<int>(mode);
    }
  }
}

TEST(NormalizeL2Test, GivesUnitLength) {
  std::vector<float> vector = {3.0f, -4.0f};
  NormalizeL2(absl::MakeSpan(vector));
  EXPECT_THAT(vector, ElementsAre(0.6f, -0.8f));
  // Squares of these overflow or vanish in f32.
  for (const float magnitude : {1e30f, 1e-10f}) {
    std::vector<float> extreme = {magnitude, magnitude};
    NormalizeL2(absl::MakeSpan(extreme));
    EXPECT_THAT(extreme, Each(FloatNear(std::sqrt(0.5f), 1e-6f))) << magnitude;
  }
}

// C28
TEST(NormalizeL2Test, AZeroVectorStaysZero) {
  std::vector<float> vector(5, 0.0f);
  NormalizeL2(absl::MakeSpan(vector));
  EXPECT_THAT(vector, Each(0.0f));
}

}  // namespace
}  // namespace attune
