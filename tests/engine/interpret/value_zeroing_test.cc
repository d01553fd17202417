#include "engine/interpret/value_zeroing.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/model/encoder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/random_weights.h"
#include "tests/support/reference_ops.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::CopyOf;
using ::attune::testing::DoubleMatrix;
using ::attune::testing::IsOk;
using ::attune::testing::RandomWeights;
using ::attune::testing::ReferenceActivation;
using ::attune::testing::ReferenceLayerNorm;
using ::attune::testing::ReferenceLinear;
using ::attune::testing::ReferenceSelfAttention;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kSeq = 11;
constexpr int64_t kLayer = 1;  // the one that is looked at

ModelConfig Config() {
  ModelConfig config;
  config.model_type = "bert";
  config.vocab = 97;
  config.hidden = 60;
  config.layers = 2;
  config.heads = 4;
  config.ffn = 144;
  config.max_positions = 64;
  config.type_vocab = 2;
  config.layer_norm_epsilon = 1e-12f;
  return config;
}

// Runs `use(step, weights)` inside a pass, where the layer's attention block is at hand.
template <typename Use>
class StepTap final : public LayerTap {
 public:
  explicit StepTap(Use use) : weights_(static_cast<size_t>(Config().heads)), use_(std::move(use)) {}
  bool WantsWeights(int64_t layer, int64_t) override { return layer == kLayer; }
  void OnWeights(int64_t, int64_t, int64_t head, ConstMatrixView weights) override {
    weights_[static_cast<size_t>(head)] = CopyOf(weights);
  }
  bool WantsAttention(int64_t layer) override { return layer == kLayer; }
  void OnAttention(const AttentionStep& step) override { use_(step, weights_); }

 private:
  std::vector<Matrix> weights_;
  Use use_;
};

template <typename Use>
void WithStep(Use use, const HeadAblation* ablation = nullptr) {
  const ModelConfig config = Config();
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<const Encoder> encoder,
                              Encoder::Create(config, RandomWeights(config), {}));
  Batch batch;
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < kSeq; ++i) ids.push_back((i * 31 + 5) % 97);
  batch.Append(ids, {});
  OpContext context;
  EncoderWorkspace workspace(config);
  StepTap tap(std::move(use));
  EXPECT_THAT(encoder->Forward(context, batch, workspace, {.tap = &tap, .ablation = ablation}),
              IsOk());
}

// The layer's output for `input`, in f64, as if token `zeroed` had no value; negative: all have.
DoubleMatrix LayerOutput(const DoubleMatrix& input, int64_t zeroed) {
  const ModelConfig config = Config();
  const ModelWeights all = RandomWeights(config);
  const LayerWeights& layer = all.layers[static_cast<size_t>(kLayer)];
  const auto linear = [](const DoubleMatrix& src, const LinearWeights& weights) {
    return ReferenceLinear(src, weights.weights.view(), weights.bias.span());
  };
  const auto add_and_norm = [&](DoubleMatrix sum, const DoubleMatrix& more,
                                const LayerNormWeights& norm) {
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += more.values[i];
    return ReferenceLayerNorm(sum, norm.gamma.span(), norm.beta.span(), config.layer_norm_epsilon);
  };
  DoubleMatrix qkv = linear(input, layer.qkv);
  for (int64_t k = 2 * config.hidden; zeroed >= 0 && k < 3 * config.hidden; ++k) {
    qkv.at(zeroed, k) = 0;
  }
  const DoubleMatrix mixed = ReferenceSelfAttention(qkv, config.heads).dst;
  const DoubleMatrix attended =
      add_and_norm(input, linear(mixed, layer.attention_output), layer.attention_norm);
  DoubleMatrix ffn = linear(attended, layer.ffn_input);
  for (double& value : ffn.values) value = ReferenceActivation(config.activation, value);
  return add_and_norm(attended, linear(ffn, layer.ffn_output), layer.ffn_norm);
}

double Turn(const DoubleMatrix& a, const DoubleMatrix& b, int64_t row) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (int64_t k = 0; k < a.cols; ++k) {
    ab += a.at(row, k) * b.at(row, k);
    aa += a.at(row, k) * a.at(row, k);
    bb += b.at(row, k) * b.at(row, k);
  }
  return 1 - ab / std::sqrt(aa * bb);
}

TEST(ValueZeroingTest, EqualsTheWholeLayerComputedAgainWithoutEachValue) {
  WithStep([](const AttentionStep& step, const std::vector<Matrix>& weights) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix map, ValueZeroing(step, weights, nullptr));
    const DoubleMatrix input(step.input);
    const DoubleMatrix unchanged = LayerOutput(input, -1);
    DoubleMatrix turns(kSeq, kSeq);
    for (int64_t key = 0; key < kSeq; ++key) {
      const DoubleMatrix changed = LayerOutput(input, key);
      for (int64_t query = 0; query < kSeq; ++query) {
        turns.at(query, key) = Turn(unchanged, changed, query);
      }
    }
    for (int64_t query = 0; query < kSeq; ++query) {
      double sum = 0;
      for (int64_t key = 0; key < kSeq; ++key) sum += turns.at(query, key);
      for (int64_t key = 0; key < kSeq; ++key) {
        // Outputs differ by 1e-2 and more of their length, and are rounded to 1e-6 of it.
        EXPECT_NEAR(map.view().at(query, key), turns.at(query, key) / sum, 1e-5)
            << "from " << query << " to " << key;
      }
    }
  });
}

TEST(ValueZeroingTest, ATokenThatGetsNothingFromAnotherIsNotTurned) {
  WithStep([](const AttentionStep& step, const std::vector<Matrix>& weights) {
    std::vector<Matrix> blind;
    for (const Matrix& matrix : weights) {
      Matrix copy = CopyOf(matrix.view());
      copy.view().at(3, 7) = 0;
      blind.push_back(std::move(copy));
    }
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix map, ValueZeroing(step, blind, nullptr));
    EXPECT_EQ(map.view().at(3, 7), 0);
    EXPECT_GT(map.view().at(7, 3), 0);
  });
}

TEST(ValueZeroingTest, WithoutAnyHeadNothingTurns) {
  HeadAblation ablation(Config().layers, Config().heads);
  for (int64_t head = 0; head < Config().heads; ++head) {
    ablation.Set(kLayer, head, AblationMode::kZero);
  }
  WithStep(
      [](const AttentionStep& step, const std::vector<Matrix>& weights) {
        ATTUNE_ASSERT_OK_AND_ASSIGN(const Matrix map, ValueZeroing(step, weights, nullptr));
        for (const float value : map.span()) EXPECT_EQ(value, 0);
      },
      &ablation);
}

TEST(ValueZeroingTest, StopsBetweenRows) {
  WithStep([](const AttentionStep& step, const std::vector<Matrix>& weights) {
    int asked = 0;
    EXPECT_THAT(ValueZeroing(step, weights, [&asked] { return ++asked == 3; }),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("row 2")));
  });
}

}  // namespace
}  // namespace attune
