#include "engine/interpret/rollout.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::testing::FloatNear;
using ::testing::Pointwise;

// A few roundings of numbers up to 1.
constexpr float kTolerance = 1e-6f;

Matrix Uniform(int64_t seq) {
  Matrix weights(seq, seq);
  for (float& weight : weights.span()) weight = 1 / static_cast<float>(seq);
  return weights;
}

// Worked by hand; the other order of the factors would begin with .465625.
TEST(RolloutTest, LaterLayersMultiplyFromTheLeft) {
  Rollout rollout;
  rollout.AddLayer(MatrixOf({{.5, .25, .25}, {.2, .6, .2}, {.1, .1, .8}}).view());
  rollout.AddLayer(MatrixOf({{.1, .7, .2}, {.25, .25, .5}, {.6, .3, .1}}).view());
  EXPECT_THAT(Flat(rollout.product()),
              Pointwise(FloatNear(kTolerance), {.4525f, .35375f, .19375f, .16875f, .528125f,
                                                .303125f, .2675f, .185f, .5475f}));
}

TEST(RolloutTest, OneLayerIsHalfItsWeightsAndHalfTheResidual) {
  Rollout rollout;
  rollout.AddLayer(MatrixOf({{.25, .75}, {.5, .5}}).view());
  EXPECT_THAT(Flat(rollout.product()), Pointwise(FloatNear(0), {.625f, .375f, .25f, .75f}));
}

// Each layer leaves 2^-L of a token where it was and spreads the rest evenly.
TEST(RolloutTest, UniformAttentionHasItsClosedForm) {
  constexpr int64_t kSeq = 7;
  Rollout rollout;
  for (int layers = 1; layers <= 5; ++layers) {
    rollout.AddLayer(Uniform(kSeq).view());
    const double kept = std::pow(2.0, -layers);
    for (int64_t i = 0; i < kSeq; ++i) {
      for (int64_t j = 0; j < kSeq; ++j) {
        const double expected = (1 - kept) / kSeq + (i == j ? kept : 0);
        EXPECT_NEAR(rollout.product().at(i, j), expected, kTolerance) << layers << " layers";
      }
    }
  }
}

TEST(RolloutTest, ALayerWithoutHeadsMovesNothing) {
  Rollout rollout;
  rollout.AddLayer(Matrix().view());
  EXPECT_EQ(rollout.product().rows, 0);
  rollout.AddLayer(Uniform(3).view());
  const std::vector<float> before = Flat(rollout.product());
  rollout.AddLayer(Matrix().view());
  EXPECT_EQ(Flat(rollout.product()), before);
}

}  // namespace
}  // namespace attune
