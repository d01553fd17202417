// What a model is, from its config.json, checked once and for all.
#ifndef ATTUNE_ENGINE_MODEL_CONFIG_H_
#define ATTUNE_ENGINE_MODEL_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ops/activation.h"

namespace attune {

// The shape of an encoder. Immutable after ParseModelConfig.
struct ModelConfig {
  std::string model_type;  // "bert"
  int64_t vocab = 0;       // rows of the word table
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t ffn = 0;  // intermediate_size
  int64_t max_positions = 0;
  int64_t type_vocab = 0;
  float layer_norm_epsilon = 0;
  Activation activation = Activation::kGelu;

  int64_t head_dim() const { return hidden / heads; }
};

// Reads a Hugging Face config.json. Errors name the key, the value and the range:
// kInvalidArgument for a missing, mistyped or out-of-range key, kUnimplemented for a model family,
// position type or activation that is not built. Every number is bounded before anything is
// allocated from it.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view config_json);

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_CONFIG_H_
