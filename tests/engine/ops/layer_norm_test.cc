#include "engine/ops/layer_norm.h"

#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/reference_ops.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::Copy;
using testing::DoubleMatrix;
using testing::RandomMatrix;
using testing::ReferenceLayerNorm;
using testing::SameBits;

// Outputs are of order 4 at most: a few roundings of the centred value, its scale and the shift,
// plus the relative error of the standard deviation, a sum over `hidden` in vector lanes.
constexpr double kTolerance = 32 * testing::kEps;

class LayerNormWidthTest : public ::testing::TestWithParam<int64_t> {
 protected:
  const int64_t hidden_ = GetParam();
  const Matrix gamma_ = RandomMatrix(1, hidden_, 1.0f, 1);
  const Matrix beta_ = RandomMatrix(1, hidden_, 1.0f, 2);
  const LayerNormParams params_ = {gamma_.span(), beta_.span(), 1e-5f};
};

TEST_P(LayerNormWidthTest, MatchesTheReference) {
  const Matrix src = RandomMatrix(5, hidden_, 2.0f, 3);
  Matrix rows = Copy(src.view());
  LayerNorm(params_, rows.view());
  EXPECT_THAT(rows.view(), AllNear(ReferenceLayerNorm(DoubleMatrix(src.view()), gamma_.span(),
                                                      beta_.span(), 1e-5f),
                                   kTolerance));
}

TEST_P(LayerNormWidthTest, PacksWhatItNormalised) {
  const Matrix src = RandomMatrix(5, hidden_, 2.0f, 3);
  Matrix expected = Copy(src.view());
  LayerNorm(params_, expected.view());
  for (const Precision precision : {Precision::kBf16, Precision::kInt8}) {
    Matrix rows = Copy(src.view());
    LinearInput packed(precision, 5, hidden_);
    LinearInput expected_packed(precision, 5, hidden_);
    LayerNorm(params_, rows.view(), packed.view());
    EXPECT_THAT(rows.view(), SameBits(expected.view()));
    PackLinearInput(expected.view(), expected_packed.view());
    EXPECT_EQ(std::memcmp(packed.view().data, expected_packed.view().data,
                          static_cast<size_t>(5 * hidden_ * ElementBytes(precision))),
              0);
  }
}

TEST_P(LayerNormWidthTest, WritesNothingPastARow) {
  Matrix wide = RandomMatrix(3, hidden_ + 16, 1.0f, 5);
  const Matrix before = Copy(wide.view());
  LayerNorm(params_, wide.view().Cols(0, hidden_));
  EXPECT_THAT(wide.view().Cols(hidden_, hidden_ + 16),
              SameBits(before.view().Cols(hidden_, hidden_ + 16)));
}

INSTANTIATE_TEST_SUITE_P(Widths, LayerNormWidthTest,
                         ::testing::Values(1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 67, 384, 768, 1021,
                                           4096));

// C34: the epsilon of the configuration, population variance.
TEST(LayerNormTest, UsesThePopulationVarianceAndTheGivenEpsilon) {
  constexpr double kPrinted = 5e-7;  // the expected values have six decimals
  const std::vector<float> gamma(4, 1.0f);
  const std::vector<float> beta(4, 0.0f);
  const auto normalised = [&](float epsilon) {
    Matrix row(1, 4);
    std::copy_n(std::vector<float>{0.001f, -0.001f, 0.002f, -0.002f}.begin(), 4, row.data());
    LayerNorm({gamma, beta, epsilon}, row.view());
    return row;
  };
  DoubleMatrix small(1, 4);
  small.values = {0.632455, -0.632455, 1.264911, -1.264911};
  EXPECT_THAT(normalised(1e-12f).view(), AllNear(small, kPrinted));
  DoubleMatrix large(1, 4);
  large.values = {0.282843, -0.282843, 0.565685, -0.565685};
  EXPECT_THAT(normalised(1e-5f).view(), AllNear(large, kPrinted));
}

TEST(LayerNormTest, AConstantRowBecomesBeta) {
  // 1/sqrt(epsilon) = 1e6 would amplify a mean that is off by one rounding to 1e-2.
  constexpr double kTinyAgainstTheRoundings = 1e-6;
  constexpr int64_t kHidden = 384;
  const std::vector<float> gamma(kHidden, 1.0f);
  const std::vector<float> beta(kHidden, 0.0f);
  for (const float value : {0.0f, 0.1f, -3.7f, 1000.3f}) {
    Matrix row(1, kHidden);
    std::fill(row.span().begin(), row.span().end(), value);
    LayerNorm({gamma, beta, 1e-12f}, row.view());
    EXPECT_THAT(row.view(), AllNear(DoubleMatrix(1, kHidden), kTinyAgainstTheRoundings)) << value;
  }
}

TEST(LayerNormTest, NanStaysInItsRow) {
  const std::vector<float> gamma(20, 1.0f);
  const std::vector<float> beta(20, 0.0f);
  Matrix rows = RandomMatrix(3, 20, 1.0f, 1);
  Matrix expected = Copy(rows.view());
  LayerNorm({gamma, beta, 1e-5f}, expected.view());
  rows.view().at(1, 4) = std::nanf("");
  LayerNorm({gamma, beta, 1e-5f}, rows.view());
  EXPECT_THAT(rows.view().Rows(0, 1), SameBits(expected.view().Rows(0, 1)));
  EXPECT_THAT(rows.view().Rows(2, 3), SameBits(expected.view().Rows(2, 3)));
  for (const float value : rows.row(1)) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace attune
