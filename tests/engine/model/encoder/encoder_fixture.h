// What the tests of the encoder share: small encoders with random weights, in each precision.
#ifndef ATTUNE_TESTS_ENGINE_MODEL_ENCODER_ENCODER_FIXTURE_H_
#define ATTUNE_TESTS_ENGINE_MODEL_ENCODER_ENCODER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/encoder.h"
#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/status_matchers.h"

namespace attune::testing {

using Text = std::vector<int32_t>;

// Small, but with a hidden size past a cache line, heads of an odd width and more than one layer.
ModelConfig SmallConfig();
// The sizes of the default model, with fewer layers and words.
ModelConfig ShallowMiniLmConfig();

// null if this CPU has no kernels for `precision`.
std::unique_ptr<const Encoder> MakeEncoder(const ModelConfig& config, Precision precision);

// seq ids below `vocab`; the same at every call with the same seed.
Text RandomText(int64_t seq, int64_t vocab, uint32_t seed);
// Every token of type `type`.
void Append(const Text& text, int32_t type, Batch& batch);
Batch MakeBatch(const std::vector<Text>& texts);

// [seq, hidden] of one text, of [tokens, hidden] of its batch.
ConstMatrixView RowsOfText(ConstMatrixView hidden, const Batch& batch, int64_t text);

// Every hidden state and every weight matrix of a pass.
class Recorder final : public LayerTap {
 public:
  bool WantsWeights(int64_t, int64_t) override { return true; }
  void OnWeights(int64_t text, int64_t layer, int64_t head, ConstMatrixView matrix) override {
    weights.push_back({text, layer, head, Copy(matrix)});
  }
  void OnHidden(int64_t layer, ConstMatrixView state) override {
    EXPECT_EQ(layer, static_cast<int64_t>(hidden.size()));
    hidden.push_back(Copy(state));
  }

  struct Weights {
    int64_t text;
    int64_t layer;
    int64_t head;
    Matrix matrix;
  };
  std::vector<Weights> weights;
  std::vector<Matrix> hidden;
};

// Its parameter is the precision; skips those that this CPU has no kernels for.
class EncoderFixture : public ::testing::TestWithParam<Precision> {
 protected:
  explicit EncoderFixture(const ModelConfig& config = SmallConfig()) : config_(config) {}

  void SetUp() override {
    if (encoder_ == nullptr) GTEST_SKIP() << "no kernels for this precision on " << EffectiveIsa();
  }

  // The last hidden state, copied.
  Matrix Forward(const Batch& batch, LayerTap* tap = nullptr) {
    const auto hidden = encoder_->Forward(context_, batch, workspace_, {.tap = tap});
    EXPECT_THAT(hidden, IsOk());
    return hidden.ok() ? Copy(*hidden) : Matrix();
  }

  absl::Status ForwardStatus(const Batch& batch, const Encoder::ForwardOptions& options = {}) {
    return encoder_->Forward(context_, batch, workspace_, options).status();
  }

  const ModelConfig config_;
  const std::unique_ptr<const Encoder> encoder_ = MakeEncoder(config_, GetParam());
  OpContext context_;
  EncoderWorkspace workspace_{config_, GetParam()};
};

class MiniLmFixture : public EncoderFixture {
 protected:
  MiniLmFixture() : EncoderFixture(ShallowMiniLmConfig()) {}
};

inline const auto kPrecisions =
    ::testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8);
inline const auto kPrecisionOf = [](const ::testing::TestParamInfo<Precision>& precision) {
  return std::string(PrecisionName(precision.param));
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_ENGINE_MODEL_ENCODER_ENCODER_FIXTURE_H_
