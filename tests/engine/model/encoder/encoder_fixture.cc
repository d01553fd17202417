#include "tests/engine/model/encoder/encoder_fixture.h"

#include <random>
#include <utility>

#include "absl/status/status.h"
#include "tests/support/random_weights.h"

namespace attune::testing {

ModelConfig SmallConfig() {
  ModelConfig config;
  config.model_type = "bert";
  config.vocab = 97;
  config.hidden = 60;
  config.layers = 3;
  config.heads = 4;
  config.ffn = 144;
  config.max_positions = 320;
  config.type_vocab = 2;
  config.layer_norm_epsilon = 1e-12f;
  config.activation = Activation::kGelu;
  return config;
}

ModelConfig ShallowMiniLmConfig() {
  ModelConfig config = MiniLmConfig();
  config.vocab = 97;
  config.layers = 2;
  return config;
}

std::unique_ptr<const Encoder> MakeEncoder(const ModelConfig& config, Precision precision) {
  auto encoder = Encoder::Create(config, RandomWeights(config), {.precision = precision});
  if (absl::IsUnimplemented(encoder.status())) return nullptr;
  EXPECT_THAT(encoder, IsOk());
  return *std::move(encoder);
}

Text RandomText(int64_t seq, int64_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  Text text(static_cast<size_t>(seq));
  for (int32_t& id : text) id = static_cast<int32_t>(random() % static_cast<uint32_t>(vocab));
  return text;
}

void Append(const Text& text, int32_t type, Batch& batch) {
  batch.token_ids.insert(batch.token_ids.end(), text.begin(), text.end());
  batch.type_ids.insert(batch.type_ids.end(), text.size(), type);
  batch.row_begin.push_back(static_cast<int64_t>(batch.token_ids.size()));
}

Batch MakeBatch(const std::vector<Text>& texts) {
  Batch batch;
  for (const Text& text : texts) Append(text, 0, batch);
  return batch;
}

ConstMatrixView RowsOfText(ConstMatrixView hidden, const Batch& batch, int64_t text) {
  const int64_t begin = batch.row_begin[static_cast<size_t>(text)];
  return hidden.Rows(begin, begin + batch.seq(text));
}

}  // namespace attune::testing
