#include "engine/interpret/attention_flow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::attune::testing::StatusIs;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// A few roundings of numbers up to 1.
constexpr float kTolerance = 1e-6f;

// Weights whose rows sum to 1; `sharp` makes most of a row one weight.
Matrix RandomWeights(int64_t seq, uint32_t seed, float sharp) {
  Matrix weights = RandomMatrix(seq, seq, seed);
  for (int64_t i = 0; i < seq; ++i) {
    double sum = 0;
    for (float& value : weights.row(i)) sum += value = std::exp(sharp * value);
    for (float& value : weights.row(i)) value = static_cast<float>(value / sum);
  }
  return weights;
}

Matrix FlowsOf(const std::vector<Matrix>& layers) {
  AttentionFlow flow(layers.front().rows());
  for (const Matrix& layer : layers) flow.AddLayer(layer.view());
  auto flows = flow.Flows(nullptr);
  EXPECT_THAT(flows, testing::IsOk());
  return *std::move(flows);
}

// By the theorem of Ford and Fulkerson: the least capacity that, taken away, parts `top` above all
// layers from `input` below them. Tries every set of the tokens in between.
double LeastCut(const std::vector<Matrix>& layers, int64_t top, int64_t input) {
  const int64_t seq = layers.front().rows();
  const auto count = static_cast<int64_t>(layers.size());
  const auto capacity = [&](int64_t layer, int64_t above, int64_t below) {
    const double weight = layers[static_cast<size_t>(layer)].view().at(above, below);
    return 0.5 * weight + (above == below ? 0.5 : 0.0);
  };
  const int64_t between = (count - 1) * seq;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t set = 0; set < int64_t{1} << between; ++set) {
    // Whether a token of a level is on the side of `top`; level 0 is the input.
    const auto on_top = [&](int64_t level, int64_t token) {
      if (level == count) return token == top;
      if (level == 0) return token != input;
      return (set >> ((level - 1) * seq + token) & 1) == 1;
    };
    double cut = 0;
    for (int64_t layer = 0; layer < count; ++layer) {
      for (int64_t above = 0; above < seq; ++above) {
        for (int64_t below = 0; below < seq; ++below) {
          if (on_top(layer + 1, above) && !on_top(layer, below)) {
            cut += capacity(layer, above, below);
          }
        }
      }
    }
    least = std::min(least, cut);
  }
  return least;
}

TEST(AttentionFlowTest, OneLayerIsHalfItsWeightsAndHalfTheResidual) {
  EXPECT_THAT(Flat(FlowsOf([] {
                std::vector<Matrix> layers;
                layers.push_back(MatrixOf({{.25, .75}, {.5, .5}}));
                return layers;
              }())),
              Pointwise(FloatNear(kTolerance), {.625f, .375f, .25f, .75f}));
}

// B = [.7 .3; .1 .9] below [.6 .4; .2 .8]. From token 0 to input 0 the widest are .6 and .1 of .4
// through token 1: min(.6, .7) + min(.4, .1) = .7; to input 1 min(.6, .3) + min(.4, .9) = .7.
TEST(AttentionFlowTest, TwoLayersAreTheFlowsWorkedByHand) {
  std::vector<Matrix> layers;
  layers.push_back(MatrixOf({{.4, .6}, {.2, .8}}));
  layers.push_back(MatrixOf({{.2, .8}, {.4, .6}}));
  // Row 1: to input 0 min(.2, .7) + min(.8, .1) = .3; to input 1 min(.2, .3) + min(.8, .9) = 1.
  EXPECT_THAT(Flat(FlowsOf(layers)),
              Pointwise(FloatNear(kTolerance), {.5f, .5f, .3f / 1.3f, 1 / 1.3f}));
}

TEST(AttentionFlowTest, EqualsTheLeastCutOfEveryPairOfTokens) {
  constexpr int64_t kSeq = 3;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::vector<Matrix> layers;
    for (uint32_t layer = 0; layer < 1 + seed % 4; ++layer) {
      layers.push_back(RandomWeights(kSeq, 100 * seed + layer, 6));
    }
    const Matrix flows = FlowsOf(layers);
    for (int64_t top = 0; top < kSeq; ++top) {
      std::vector<double> expected;
      for (int64_t input = 0; input < kSeq; ++input) {
        expected.push_back(LeastCut(layers, top, input));
      }
      const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
      for (int64_t input = 0; input < kSeq; ++input) {
        EXPECT_NEAR(flows.view().at(top, input), expected[static_cast<size_t>(input)] / sum,
                    kTolerance)
            << "seed " << seed << ", from " << top << " to " << input;
      }
    }
  }
}

TEST(AttentionFlowTest, RowsSumToOneAtTheMostTokens) {
  std::vector<Matrix> layers;
  for (uint32_t layer = 0; layer < 6; ++layer) {
    layers.push_back(RandomWeights(AttentionFlow::kMaxTokens, layer, 8));
  }
  const Matrix flows = FlowsOf(layers);
  for (int64_t i = 0; i < flows.rows(); ++i) {
    EXPECT_NEAR(std::accumulate(flows.row(i).begin(), flows.row(i).end(), 0.0), 1, 1e-5);
    EXPECT_GE(*std::min_element(flows.row(i).begin(), flows.row(i).end()), 0);
  }
}

TEST(AttentionFlowTest, ALayerWithoutHeadsMovesNothing) {
  AttentionFlow flow(3);
  flow.AddLayer(Matrix().view());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix identity, flow.Flows(nullptr));
  EXPECT_THAT(Flat(identity), ::testing::ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  const Matrix weights = RandomWeights(3, 1, 2);
  flow.AddLayer(weights.view());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix flows, flow.Flows(nullptr));
  std::vector<Matrix> alone;
  alone.push_back(testing::CopyOf(weights.view()));
  EXPECT_THAT(Flat(flows), Pointwise(FloatNear(kTolerance), Flat(FlowsOf(alone))));
}

TEST(AttentionFlowTest, StopsBetweenRows) {
  AttentionFlow flow(3);
  flow.AddLayer(RandomWeights(3, 1, 2).view());
  int asked = 0;
  EXPECT_THAT(flow.Flows([&asked] { return ++asked == 2; }),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("row 1")));
}

}  // namespace
}  // namespace attune
