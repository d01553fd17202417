#include "tests/support/random_weights.h"

#include <cmath>
#include <utility>

#include "tests/support/numeric.h"

namespace attune::testing {
namespace {

class WeightsMaker {
 public:
  explicit WeightsMaker(const ModelConfig& config) : config_(config) {}

  ModelWeights Make() {
    ModelWeights weights;
    weights.word_embeddings = Random(config_.vocab, config_.hidden, 1.0f);
    weights.position_embeddings = Random(config_.max_positions, config_.hidden, 0.5f);
    weights.type_embeddings = Random(config_.type_vocab, config_.hidden, 0.5f);
    weights.embedding_norm = Norm();
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      weights.layers.push_back(
          {Layer(3 * config_.hidden, config_.hidden), Layer(config_.hidden, config_.hidden), Norm(),
           Layer(config_.ffn, config_.hidden), Layer(config_.hidden, config_.ffn), Norm()});
    }
    return weights;
  }

 private:
  Matrix Random(int64_t rows, int64_t cols, float scale) {
    return RandomMatrix(rows, cols, scale, seed_++);
  }
  LinearWeights Layer(int64_t out, int64_t in) {
    const float unit_gain = std::sqrt(3.0f / static_cast<float>(in));
    return {Random(out, in, unit_gain), Random(1, out, 0.1f)};
  }
  LayerNormWeights Norm() {
    Matrix gamma = Random(1, config_.hidden, 0.2f);
    for (float& value : gamma.span()) value += 1.0f;
    return {std::move(gamma), Random(1, config_.hidden, 0.2f)};
  }

  const ModelConfig config_;
  uint32_t seed_ = 1;
};

}  // namespace

ModelWeights RandomWeights(const ModelConfig& config) { return WeightsMaker(config).Make(); }

ModelConfig MiniLmConfig() {
  ModelConfig config;
  config.model_type = "bert";
  config.vocab = 30522;
  config.hidden = 384;
  config.layers = 6;
  config.heads = 12;
  config.ffn = 1536;
  config.max_positions = 512;
  config.type_vocab = 2;
  config.layer_norm_epsilon = 1e-12f;
  config.activation = Activation::kGelu;
  return config;
}

}  // namespace attune::testing
