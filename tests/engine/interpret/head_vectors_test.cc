#include "engine/interpret/head_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/ops/precision_probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::RandomMatrix;

constexpr int64_t kSeq = 5;
constexpr int64_t kHeads = 4;
constexpr int64_t kHeadDim = 19;
constexpr int64_t kHidden = kHeads * kHeadDim;

// An attention block whose output projection is packed in `precision`.
class HeadVectorsTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    if (!CheckPrecisionSupported(GetParam()).ok()) GTEST_SKIP() << "this CPU has no such kernels";
    ATTUNE_ASSERT_OK_AND_ASSIGN(
        linear_, Linear::Create(weights_.view(), bias_.span(), {.precision = GetParam()}));
  }

  AttentionStep Step() {
    return {.input = input_.view(),
            .qkv = qkv_.view(),
            .mixed = input_.view(),
            .output = *linear_,
            .norm = norm_,
            .context = context_};
  }

  // By how much a weight of output `row` may differ from the one that was packed: half a step of
  // its precision, and the rounding of the sum it is read from.
  double Tolerance(int64_t row) const {
    double largest = 0;
    for (const float weight : weights_.row(row))
      largest = std::max(largest, std::fabs(double{weight}));
    const double f32 = 2e-7 * largest;
    if (GetParam() == Precision::kBf16) return largest / 256 + f32;
    if (GetParam() == Precision::kInt8) return largest / 254 * 1.001 + f32;
    return f32;
  }

  const Matrix input_ = RandomMatrix(kSeq, kHidden, 1);
  const Matrix qkv_ = RandomMatrix(kSeq, 3 * kHidden, 2);
  const Matrix weights_ = RandomMatrix(kHidden, kHidden, 3);  // [out, in]
  const Matrix bias_ = RandomMatrix(1, kHidden, 4);
  const LayerNormWeights norm_;
  std::unique_ptr<const Linear> linear_;
  OpContext context_;
};

TEST_P(HeadVectorsTest, ThePackedWeightsAreReadBack) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const OutputWeights output, ReadOutputWeights(Step()));
  for (int64_t out = 0; out < kHidden; ++out) {
    for (int64_t in = 0; in < kHidden; ++in) {
      EXPECT_NEAR(output.columns.view().at(in, out), weights_.view().at(out, in), Tolerance(out))
          << "input " << in << ", output " << out;
    }
    EXPECT_NEAR(output.bias.view().at(0, out), bias_.view().at(0, out), 1e-7);
  }
}

TEST_P(HeadVectorsTest, AreTheValuesTimesTheHeadsOwnColumns) {
  const AttentionStep step = Step();
  ATTUNE_ASSERT_OK_AND_ASSIGN(const OutputWeights output, ReadOutputWeights(step));
  ATTUNE_ASSERT_OK_AND_ASSIGN(HeadVectors vectors,
                              HeadVectors::Create(step, kHeads, output.columns));
  ASSERT_THAT(vectors.Load(2, kSeq), testing::IsOk());
  for (int64_t head = 0; head < kHeads; ++head) {
    for (int64_t token = 2; token < kSeq; ++token) {
      for (int64_t k = 0; k < kHidden; ++k) {
        double expected = 0;
        for (int64_t d = head * kHeadDim; d < (head + 1) * kHeadDim; ++d) {
          expected += double{qkv_.view().at(token, 2 * kHidden + d)} *
                      double{output.columns.view().at(d, k)};
        }
        EXPECT_NEAR(vectors.Of(head, token)[static_cast<size_t>(k)], expected, 1e-6)
            << "head " << head << ", token " << token << ", element " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, HeadVectorsTest,
                         ::testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8),
                         [](const auto& precision) {
                           return std::string(PrecisionName(precision.param));
                         });

}  // namespace
}  // namespace attune
