#include "tests/golden/formula_weights.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace attune::testing {
namespace {

// Powers of two, so that scaling is exact. The feed-forward layer's input is wide enough for the
// erf and tanh forms of GELU to differ.
constexpr int kScaleLog2 = -2;
constexpr int kFfnInputScaleLog2 = -1;

// FNV-1a.
uint32_t HashName(const std::string& name) {
  uint32_t value = 0x811C9DC5;
  for (const char c : name) value = (value ^ static_cast<unsigned char>(c)) * 0x01000193;
  return value;
}

// rows[i] of the tensor `name`: uniform in [-1, 1) times 2^scale_log2, row-major.
void Fill(const std::string& name, int scale_log2, MatrixView rows) {
  const uint32_t seed = HashName(name);
  uint32_t index = 0;
  for (int64_t i = 0; i < rows.rows; ++i) {
    for (float& value : rows.row(i)) {
      const uint32_t bits = Mix(index++ * 0x9E3779B9 + seed) >> 8;
      value = std::ldexp(static_cast<float>(bits) * 0x1p-23F - 1, scale_log2);
    }
  }
}

Matrix Tensor(const std::string& name, int scale_log2, int64_t rows, int64_t cols) {
  Matrix matrix(rows, cols);
  Fill(name, scale_log2, matrix.view());
  return matrix;
}

LinearWeights Linear(const std::string& name, int scale_log2, int64_t out, int64_t in) {
  return {Tensor(name + ".weight", scale_log2, out, in),
          Tensor(name + ".bias", kScaleLog2, 1, out)};
}

LayerNormWeights LayerNorm(const std::string& name, int64_t hidden) {
  LayerNormWeights norm = {Tensor(name + ".weight", kScaleLog2, 1, hidden),
                           Tensor(name + ".bias", kScaleLog2, 1, hidden)};
  for (float& gamma : norm.gamma.span()) gamma += 1;
  return norm;
}

// transformers keeps queries, keys and values apart; attune has them one below the other.
LinearWeights Qkv(const std::string& prefix, int64_t hidden) {
  LinearWeights qkv = {Matrix(3 * hidden, hidden), Matrix(1, 3 * hidden)};
  int64_t begin = 0;
  for (const char* part : {"query", "key", "value"}) {
    const int64_t end = begin + hidden;
    Fill(absl::StrCat(prefix, part, ".weight"), kScaleLog2, qkv.weights.view().Rows(begin, end));
    Fill(absl::StrCat(prefix, part, ".bias"), kScaleLog2, qkv.bias.view().Cols(begin, end));
    begin = end;
  }
  return qkv;
}

LayerWeights Layer(const ModelConfig& config, int64_t number) {
  const std::string prefix = absl::StrCat("encoder.layer.", number, ".");
  const int64_t hidden = config.hidden;
  LayerWeights layer;
  layer.qkv = Qkv(prefix + "attention.self.", hidden);
  layer.attention_output = Linear(prefix + "attention.output.dense", kScaleLog2, hidden, hidden);
  layer.attention_norm = LayerNorm(prefix + "attention.output.LayerNorm", hidden);
  layer.ffn_input = Linear(prefix + "intermediate.dense", kFfnInputScaleLog2, config.ffn, hidden);
  layer.ffn_output = Linear(prefix + "output.dense", kScaleLog2, hidden, config.ffn);
  layer.ffn_norm = LayerNorm(prefix + "output.LayerNorm", hidden);
  return layer;
}

}  // namespace

uint32_t Mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7FEB352D;
  x ^= x >> 15;
  x *= 0x846CA68B;
  x ^= x >> 16;
  return x;
}

ModelWeights FormulaWeights(const ModelConfig& config, int embedding_scale_log2) {
  const auto table = [&](const char* name, int64_t rows) {
    return Tensor(absl::StrCat("embeddings.", name, "_embeddings.weight"), embedding_scale_log2,
                  rows, config.hidden);
  };
  ModelWeights weights;
  weights.word_embeddings = table("word", config.vocab);
  weights.position_embeddings = table("position", config.max_positions);
  weights.type_embeddings = table("token_type", config.type_vocab);
  weights.embedding_norm = LayerNorm("embeddings.LayerNorm", config.hidden);
  for (int64_t number = 0; number < config.layers; ++number) {
    weights.layers.push_back(Layer(config, number));
  }
  return weights;
}

}  // namespace attune::testing
