// A model's weights in the shapes of the paper, read once and checked against its configuration.
#ifndef ATTUNE_ENGINE_MODEL_WEIGHTS_H_
#define ATTUNE_ENGINE_MODEL_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/model/config.h"
#include "engine/tensor/matrix.h"

namespace attune {

// y = x W^T + b.
struct LinearWeights {
  Matrix weights;  // [out, in]
  Matrix bias;     // [1, out]
};

struct LayerNormWeights {
  Matrix gamma;  // [1, hidden]
  Matrix beta;   // [1, hidden]
};

struct LayerWeights {
  LinearWeights qkv;                // [3 * hidden, hidden]: queries, keys, values
  LinearWeights attention_output;   // [hidden, hidden]
  LayerNormWeights attention_norm;  //
  LinearWeights ffn_input;          // [ffn, hidden]
  LinearWeights ffn_output;         // [hidden, ffn]
  LayerNormWeights ffn_norm;        //
};

struct ModelWeights {
  Matrix word_embeddings;      // [vocab, hidden]
  Matrix position_embeddings;  // [max_positions, hidden]
  Matrix type_embeddings;      // [type_vocab, hidden]
  LayerNormWeights embedding_norm;
  std::vector<LayerWeights> layers;
};

// The names of the files in `folder` that a WeightReader reads: model.safetensors or, where there
// is none, model.safetensors.index.json and the shards it lists, sorted. Other safetensors files
// beside them are left alone. kNotFound if there is neither, kInvalidArgument for a malformed
// index.
absl::StatusOr<std::vector<std::string>> WeightFiles(const std::string& folder);

// Reads the weights from those files, each straight into its final place, a layer at a time so that
// no more need be in memory at once. Every name and shape is checked before anything is allocated.
// Accepts the prefixes "", "bert.", "model.", "0.auto_model." and "roberta.", LayerNorm.gamma/beta
// as well as weight/bias, and dtypes F32, F16 and BF16. Heads and buffers that the encoder does not
// use (cls.*, pooler.*, embeddings.position_ids) are logged once and ignored, but a surplus tensor
// inside the encoder or the embeddings means another architecture and is refused.
// Errors name the file and the tensor: kNotFound for a missing tensor or shard, kInvalidArgument
// for a surplus tensor, a wrong shape (expected and found), a tensor given twice with different
// content, NaN or infinity; kUnimplemented for another dtype; kResourceExhausted if memory runs
// out.
// Immutable and thread-safe.
class WeightReader {
 public:
  static absl::StatusOr<WeightReader> Open(const std::string& folder, const ModelConfig& config);
  WeightReader(WeightReader&&) noexcept;
  WeightReader& operator=(WeightReader&&) noexcept;
  ~WeightReader();

  // Everything but the layers.
  absl::StatusOr<ModelWeights> ReadEmbeddings() const;
  // REQUIRES: 0 <= layer < config.layers.
  absl::StatusOr<LayerWeights> ReadLayer(int64_t layer) const;

 private:
  struct Impl;
  explicit WeightReader(std::unique_ptr<const Impl> impl);

  std::unique_ptr<const Impl> impl_;
};

// All weights at once.
absl::StatusOr<ModelWeights> LoadWeights(const std::string& folder, const ModelConfig& config);

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_WEIGHTS_H_
