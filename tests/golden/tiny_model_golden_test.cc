// Tiny BERT encoders against transformers, layer by layer: embeddings, attention, residuals, layer
// norms, feed-forward layers, and all of it stacked.
#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/batch.h"
#include "engine/model/config.h"
#include "engine/model/encoder.h"
#include "engine/model/layer_tap.h"
#include "engine/ops/op_context.h"
#include "gtest/gtest.h"
#include "tests/golden/formula_weights.h"
#include "tests/golden/golden_file.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Compare;
using ::attune::testing::Difference;
using ::attune::testing::FloatsOf;
using ::attune::testing::FormulaWeights;
using ::attune::testing::IdsOf;
using ::attune::testing::ReadGoldenFile;
using ::attune::testing::SameBits;

// What is asked of the whole product. f32 rounding of hidden states up to 3 over three layers stays
// an order of magnitude below.
constexpr double kMaxAbsDifference = 1e-5;

const Json& Golden() {
  static const Json* golden = new Json(ReadGoldenFile("tiny_models.json"));
  return *golden;
}

const Json& ModelNamed(const std::string& name) {
  for (const Json& model : Golden()["models"]) {
    if (model["name"] == name) return model;
  }
  ADD_FAILURE() << "no model " << name << " in tiny_models.json";
  return Golden()["models"][0];
}

// Keeps every hidden state and every attention matrix.
class Recorder final : public LayerTap {
 public:
  bool WantsWeights(int64_t, int64_t) override { return true; }
  void OnWeights(int64_t text, int64_t layer, int64_t head, ConstMatrixView weights) override {
    for (int64_t i = 0; i < weights.rows; ++i) Append(weights.row(i), maps_[{text, layer, head}]);
  }
  void OnHidden(int64_t layer, ConstMatrixView hidden) override {
    EXPECT_EQ(layer, hidden_layers_++);
    for (int64_t i = 0; i < hidden.rows; ++i) Append(hidden.row(i), hidden_);
  }

  // [layers + 1, tokens, hidden].
  const std::vector<float>& hidden() const { return hidden_; }
  int64_t hidden_layers() const { return hidden_layers_; }
  // By text, then layer, then head.
  std::vector<float> Maps() const {
    std::vector<float> all;
    for (const auto& [key, weights] : maps_) Append(weights, all);
    return all;
  }

 private:
  static void Append(absl::Span<const float> values, std::vector<float>& to) {
    to.insert(to.end(), values.begin(), values.end());
  }

  int64_t hidden_layers_ = 0;
  std::vector<float> hidden_;
  std::map<std::array<int64_t, 3>, std::vector<float>> maps_;
};

Batch GoldenBatch() {
  Batch batch;
  for (const Json& text : Golden()["texts"]) batch.Append(IdsOf(text["ids"]), IdsOf(text["types"]));
  return batch;
}

ModelConfig ConfigOf(const Json& model) {
  absl::StatusOr<ModelConfig> config = ParseModelConfig(DumpJson(model["config"]));
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : ModelConfig();
}

std::unique_ptr<const Encoder> EncoderOf(const Json& model, const ModelConfig& config) {
  auto encoder =
      Encoder::Create(config, FormulaWeights(config, model["embedding_scale_log2"].get<int>()));
  EXPECT_TRUE(encoder.ok()) << encoder.status();
  return encoder.ok() ? *std::move(encoder) : nullptr;
}

// The last hidden state of `batch`; empty, with a failure, if the pass failed.
std::vector<float> RunEncoder(const Encoder& encoder, const Batch& batch, LayerTap* tap = nullptr) {
  OpContext context;
  EncoderWorkspace workspace(encoder.config());
  const auto hidden =
      encoder.Forward(context, batch, workspace, {.tap = tap, .should_stop = nullptr});
  EXPECT_TRUE(hidden.ok()) << hidden.status();
  std::vector<float> rows;
  for (int64_t i = 0; hidden.ok() && i < hidden->rows; ++i) {
    rows.insert(rows.end(), hidden->row(i).begin(), hidden->row(i).end());
  }
  return rows;
}

class TinyModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TinyModelTest, EveryHiddenStateIsTheReference) {
  const Json& model = ModelNamed(GetParam());
  const ModelConfig config = ConfigOf(model);
  const auto encoder = EncoderOf(model, config);
  ASSERT_NE(encoder, nullptr);
  Recorder recorder;
  const Batch batch = GoldenBatch();
  const std::vector<float> last = RunEncoder(*encoder, batch, &recorder);

  const std::vector<float> expected = FloatsOf(model["hidden_states"]);
  ASSERT_EQ(recorder.hidden_layers(), config.layers + 1);
  ASSERT_EQ(recorder.hidden().size(), expected.size());
  const auto layer_size = static_cast<size_t>(batch.tokens() * config.hidden);
  for (size_t layer = 0; layer * layer_size < expected.size(); ++layer) {
    const auto part = [&](const std::vector<float>& states) {
      return absl::MakeConstSpan(states).subspan(layer * layer_size, layer_size);
    };
    const Difference difference = Compare(part(expected), part(recorder.hidden()));
    std::cout << GetParam() << ", hidden state " << layer << ": " << difference << "\n";
    EXPECT_LE(difference.max_abs, kMaxAbsDifference)
        << "hidden state " << layer << ": " << difference;
  }
  EXPECT_TRUE(SameBits(last, absl::MakeConstSpan(recorder.hidden()).last(layer_size)));
}

TEST_P(TinyModelTest, EveryTextIsTheSameAloneAndPackedBitForBit) {
  const Json& model = ModelNamed(GetParam());
  const ModelConfig config = ConfigOf(model);
  const auto encoder = EncoderOf(model, config);
  ASSERT_NE(encoder, nullptr);
  // One text of every length from 1 to the end of the position table.
  std::vector<std::vector<int32_t>> texts;
  Batch packed;
  for (int64_t length = 1; length <= config.max_positions; ++length) {
    std::vector<int32_t>& ids = texts.emplace_back();
    for (int64_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<int32_t>((length * 11 + i * 17) % config.vocab));
    }
    packed.Append(ids, {});
  }
  const std::vector<float> together = RunEncoder(*encoder, packed);
  size_t offset = 0;
  for (const std::vector<int32_t>& ids : texts) {
    Batch single;
    single.Append(ids, {});
    const std::vector<float> alone = RunEncoder(*encoder, single);
    ASSERT_LE(offset + alone.size(), together.size());
    EXPECT_TRUE(SameBits(alone, absl::MakeConstSpan(together).subspan(offset, alone.size())))
        << "text of " << ids.size() << " tokens";
    offset += alone.size();
  }
  EXPECT_EQ(offset, together.size());
}

INSTANTIATE_TEST_SUITE_P(Models, TinyModelTest,
                         ::testing::Values("gelu", "gelu_new", "relu", "silu", "epsilon_1e-12",
                                           "epsilon_1e-5", "odd_sizes"),
                         [](const ::testing::TestParamInfo<std::string>& model) {
                           std::string name = model.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

class TinyModelMapTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TinyModelMapTest, EveryAttentionMatrixIsTheReference) {
  const Json& model = ModelNamed(GetParam());
  const auto encoder = EncoderOf(model, ConfigOf(model));
  ASSERT_NE(encoder, nullptr);
  Recorder recorder;
  RunEncoder(*encoder, GoldenBatch(), &recorder);
  const Difference difference = Compare(FloatsOf(model["attention"]), recorder.Maps());
  std::cout << GetParam() << ", attention: " << difference << "\n";
  EXPECT_LE(difference.max_abs, kMaxAbsDifference) << difference;
}

TEST_P(TinyModelMapTest, ListeningChangesNoBit) {
  const Json& model = ModelNamed(GetParam());
  const auto encoder = EncoderOf(model, ConfigOf(model));
  ASSERT_NE(encoder, nullptr);
  Recorder recorder;
  const std::vector<float> heard = RunEncoder(*encoder, GoldenBatch(), &recorder);
  EXPECT_TRUE(SameBits(heard, RunEncoder(*encoder, GoldenBatch())));
}

INSTANTIATE_TEST_SUITE_P(Models, TinyModelMapTest, ::testing::Values("gelu", "odd_sizes"));

// How far the encoder is from `model`'s golden file with one setting changed.
double DifferenceWith(const Json& model, void (*change)(ModelConfig&)) {
  ModelConfig config = ConfigOf(model);
  change(config);
  const auto encoder = EncoderOf(model, config);
  if (encoder == nullptr) return 0;
  Recorder recorder;
  RunEncoder(*encoder, GoldenBatch(), &recorder);
  return Compare(FloatsOf(model["hidden_states"]), recorder.hidden()).max_abs;
}

// C33: the goldens tell the activations apart, so passing them means that the config was obeyed.
TEST(TinyModelSettingsTest, AnotherActivationWouldBeSeen) {
  EXPECT_GT(DifferenceWith(ModelNamed("gelu"),
                           [](ModelConfig& config) { config.activation = Activation::kGeluTanh; }),
            10 * kMaxAbsDifference);
  EXPECT_GT(DifferenceWith(ModelNamed("gelu_new"),
                           [](ModelConfig& config) { config.activation = Activation::kGelu; }),
            10 * kMaxAbsDifference);
  EXPECT_GT(DifferenceWith(ModelNamed("silu"),
                           [](ModelConfig& config) { config.activation = Activation::kGelu; }),
            10 * kMaxAbsDifference);
}

// C34: likewise for the layer norm's epsilon.
TEST(TinyModelSettingsTest, AnotherEpsilonWouldBeSeen) {
  EXPECT_GT(DifferenceWith(ModelNamed("epsilon_1e-12"),
                           [](ModelConfig& config) { config.layer_norm_epsilon = 1e-5F; }),
            0.1);
  EXPECT_GT(DifferenceWith(ModelNamed("epsilon_1e-5"),
                           [](ModelConfig& config) { config.layer_norm_epsilon = 1e-12F; }),
            0.1);
}

}  // namespace
}  // namespace attune
