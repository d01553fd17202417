// Small model folders with random but fixed weights, as Hugging Face and sentence-transformers
// would have written them, for tests that need a model and not its quality.
#ifndef ATTUNE_TESTS_SUPPORT_TINY_MODEL_H_
#define ATTUNE_TESTS_SUPPORT_TINY_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_dir.h"

namespace attune::testing {

struct TinyModelOptions {
  uint64_t seed = 1;  // the same seed and sizes give the same weights, whatever the file format

  // config.json
  int64_t layers = 2;
  int64_t heads = 2;
  int64_t hidden = 16;
  int64_t ffn = 32;
  int64_t max_positions = 64;
  int64_t type_vocab = 2;
  std::string hidden_act = "gelu";
  std::optional<double> layer_norm_eps = 1e-12;  // nullopt: the key is left out

  // The vocabulary: [PAD], [UNK], [CLS], [SEP], [MASK], then these.
  std::vector<std::string> words = {"the",   "a",     "cat",  "dog", "sat", "ran",
                                    "on",    "mat",   "fast", "##s", "##t", "##er",
                                    "hello", "world", ",",    ".",   "!",   "?"};
  bool tokenizer_json = false;   // tokenizer.json instead of vocab.txt
  int64_t extra_vocab_rows = 0;  // rows of the word table beyond the vocabulary (or, < 0, missing)

  // The weights' files
  std::string dtype = "F32";  // "F32", "F16", "BF16" or "mixed"; the values are exact in all three
  std::string prefix = "";    // before every tensor name, e.g. "bert."
  bool gamma_beta = false;    // LayerNorm.gamma and .beta instead of .weight and .bias
  bool unused_tensors = false;  // embeddings.position_ids, pooler.* and cls.* as well
  int shards = 1;               // more than one: with model.safetensors.index.json

  // sentence-transformers
  bool modules = true;  // modules.json and what it names
  std::vector<std::string> pooling = {"mean"};
  bool pooling_flags = true;  // the booleans of older files; false: "pooling_mode"
  bool normalize = true;
  std::optional<int64_t> max_seq_length = std::nullopt;    // sentence_bert_config.json
  std::optional<int64_t> model_max_length = std::nullopt;  // tokenizer_config.json
};

// One weight tensor under the name that BertModel gives it.
struct TinyTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// All weights of the model that `options` describes.
std::vector<TinyTensor> TinyTensors(const TinyModelOptions& options);

// The same as its files hold them: with the dtype, names and unused tensors that `options` ask for.
std::vector<TensorToWrite> TinyFileTensors(const TinyModelOptions& options);

// A model folder on disk for as long as this object lives. Tests break files in it by way of dir().
class TinyModel {
 public:
  explicit TinyModel(const TinyModelOptions& options = {});

  const std::string& path() const { return dir_.path(); }
  const TempDir& dir() const { return dir_; }
  const TinyModelOptions& options() const { return options_; }

  // The id of a word or special token, e.g. "[CLS]". Aborts for another string.
  int32_t TokenId(absl::string_view token) const;
  // Its row of the word embedding table: [hidden].
  std::vector<float> WordVector(absl::string_view token) const;

 private:
  const TinyModelOptions options_;
  const TempDir dir_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_TINY_MODEL_H_
