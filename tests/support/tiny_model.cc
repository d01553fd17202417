#include "tests/support/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/base/check.h"
#include "engine/base/json.h"
#include "tests/support/safetensors_writer.h"

namespace attune::testing {
namespace {

constexpr absl::string_view kSpecials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

std::vector<std::string> Vocabulary(const TinyModelOptions& options) {
  std::vector<std::string> tokens(std::begin(kSpecials), std::end(kSpecials));
  tokens.insert(tokens.end(), options.words.begin(), options.words.end());
  return tokens;
}

int64_t VocabRows(const TinyModelOptions& options) {
  return static_cast<int64_t>(Vocabulary(options).size()) + options.extra_vocab_rows;
}

// FNV-1a, so that a tensor's values depend on its name and not on its place among the others.
uint64_t HashName(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Multiples of 1/128 times a power of two: seven bits, which F32, F16 and BF16 all hold. The scale
// keeps the variance of a matrix product near that of its input, so that attention is not uniform.
std::vector<float> RandomValues(uint64_t seed, absl::string_view name, int64_t count, int64_t in) {
  std::mt19937_64 random(seed ^ HashName(name));
  const bool is_gamma = absl::EndsWith(name, "LayerNorm.weight");
  const auto exponent = static_cast<int>(std::lround(std::log2(
      1.73 / std::sqrt(static_cast<double>(in)))));  // uniform on [-1, 1] deviates by 1 / 1.73
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto steps = static_cast<int>(random() % 256) - 128;
    values.push_back(is_gamma ? 1 + std::ldexp(static_cast<float>(std::max(steps, 0)), -7)
                              : std::ldexp(static_cast<float>(steps), exponent - 7));
  }
  return values;
}

class TensorList {
 public:
  explicit TensorList(uint64_t seed) : seed_(seed) {}

  void Add(const std::string& name, std::vector<int64_t> shape, int64_t in) {
    int64_t count = 1;
    for (int64_t dimension : shape) count *= dimension;
    std::vector<float> values = RandomValues(seed_, name, count, in);
    tensors_.push_back({name, std::move(shape), std::move(values)});
  }
  void AddLinear(const std::string& name, int64_t out, int64_t in) {
    Add(name + ".weight", {out, in}, in);
    Add(name + ".bias", {out}, 128);
  }
  void AddNorm(const std::string& name, int64_t hidden) {
    Add(name + ".weight", {hidden}, 1);
    Add(name + ".bias", {hidden}, 128);
  }
  std::vector<TinyTensor> Take() { return std::move(tensors_); }

 private:
  const uint64_t seed_;
  std::vector<TinyTensor> tensors_;
};

std::string FileTensorName(const TinyModelOptions& options, absl::string_view name) {
  std::string result = absl::StrCat(options.prefix, name);
  if (options.gamma_beta) {
    result = absl::StrReplaceAll(
        result, {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}});
  }
  return result;
}

void WriteWeights(const TinyModelOptions& options, const TempDir& dir) {
  const std::vector<TensorToWrite> tensors = TinyFileTensors(options);
  if (options.shards == 1) {
    dir.Write("model.safetensors", SafetensorsBytes(tensors));
    return;
  }
  Json weight_map = Json::object();
  for (int shard = 0; shard < options.shards; ++shard) {
    char file[64];
    std::snprintf(file, sizeof(file), "model-%05d-of-%05d.safetensors", shard + 1, options.shards);
    std::vector<TensorToWrite> part;
    for (size_t i = static_cast<size_t>(shard); i < tensors.size();
         i += static_cast<size_t>(options.shards)) {
      part.push_back(tensors[i]);
      weight_map[tensors[i].name] = file;
    }
    dir.Write(file, SafetensorsBytes(part));
  }
  dir.Write("model.safetensors.index.json",
            DumpJson({{"metadata", Json::object()}, {"weight_map", weight_map}}));
}

void WriteConfig(const TinyModelOptions& options, const TempDir& dir) {
  Json config = {{"architectures", {"BertModel"}},
                 {"model_type", "bert"},
                 {"vocab_size", VocabRows(options)},
                 {"hidden_size", options.hidden},
                 {"num_hidden_layers", options.layers},
                 {"num_attention_heads", options.heads},
                 {"intermediate_size", options.ffn},
                 {"max_position_embeddings", options.max_positions},
                 {"type_vocab_size", options.type_vocab},
                 {"hidden_act", options.hidden_act},
                 {"pad_token_id", 0},
                 {"position_embedding_type", "absolute"}};
  if (options.layer_norm_eps.has_value()) config["layer_norm_eps"] = *options.layer_norm_eps;
  dir.Write("config.json", DumpJson(config));
}

Json Special(absl::string_view token, int type_id) {
  return {{"SpecialToken", {{"id", std::string(token)}, {"type_id", type_id}}}};
}

Json Sequence(const char* id, int type_id) {
  return {{"Sequence", {{"id", id}, {"type_id", type_id}}}};
}

std::string TokenizerJson(const std::vector<std::string>& tokens) {
  Json vocab = Json::object();
  Json added = Json::array();
  Json specials = Json::object();
  for (size_t id = 0; id < tokens.size(); ++id) {
    vocab[tokens[id]] = id;
    if (id >= std::size(kSpecials)) continue;
    added.push_back({{"id", id},
                     {"content", tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    if (tokens[id] == "[CLS]" || tokens[id] == "[SEP]") {
      specials[tokens[id]] = {
          {"id", tokens[id]}, {"ids", Json::array({id})}, {"tokens", Json::array({tokens[id]})}};
    }
  }
  const Json single = {Special("[CLS]", 0), Sequence("A", 0), Special("[SEP]", 0)};
  Json pair = single;
  pair.push_back(Sequence("B", 1));
  pair.push_back(Special("[SEP]", 1));
  return DumpJson({{"version", "1.0"},
                   {"truncation", nullptr},
                   {"padding", nullptr},
                   {"added_tokens", added},
                   {"normalizer",
                    {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", true},
                     {"strip_accents", nullptr},
                     {"lowercase", true}}},
                   {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                   {"post_processor",
                    {{"type", "TemplateProcessing"},
                     {"single", single},
                     {"pair", pair},
                     {"special_tokens", specials}}},
                   {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                   {"model",
                    {{"type", "WordPiece"},
                     {"unk_token", "[UNK]"},
                     {"continuing_subword_prefix", "##"},
                     {"max_input_chars_per_word", 100},
                     {"vocab", vocab}}}});
}

void WriteTokenizer(const TinyModelOptions& options, const TempDir& dir) {
  const std::vector<std::string> tokens = Vocabulary(options);
  if (options.tokenizer_json) {
    dir.Write("tokenizer.json", TokenizerJson(tokens));
  } else {
    dir.Write("vocab.txt", absl::StrCat(absl::StrJoin(tokens, "\n"), "\n"));
  }
  Json config = {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", true}};
  if (options.model_max_length.has_value()) config["model_max_length"] = *options.model_max_length;
  dir.Write("tokenizer_config.json", DumpJson(config));
}

std::string PoolingJson(const TinyModelOptions& options) {
  if (!options.pooling_flags) {
    return DumpJson({{"embedding_dimension", options.hidden},
                     {"pooling_mode", options.pooling},
                     {"include_prompt", true}});
  }
  static constexpr std::pair<absl::string_view, absl::string_view> kFlags[] = {
      {"cls", "pooling_mode_cls_token"},
      {"mean", "pooling_mode_mean_tokens"},
      {"max", "pooling_mode_max_tokens"},
      {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
      {"weightedmean", "pooling_mode_weightedmean_tokens"},
      {"lasttoken", "pooling_mode_lasttoken"}};
  Json json = {{"word_embedding_dimension", options.hidden}};
  for (const auto& [mode, flag] : kFlags) {
    json[std::string(flag)] =
        std::count(options.pooling.begin(), options.pooling.end(), std::string(mode)) > 0;
  }
  return DumpJson(json);
}

void WriteModules(const TinyModelOptions& options, const TempDir& dir) {
  Json modules = Json::array();
  const auto add = [&modules](const char* kind, const char* path) {
    modules.push_back({{"idx", modules.size()},
                       {"name", std::to_string(modules.size())},
                       {"path", path},
                       {"type", absl::StrCat("sentence_transformers.models.", kind)}});
  };
  add("Transformer", "");
  add("Pooling", "1_Pooling");
  if (options.normalize) add("Normalize", "2_Normalize");
  dir.Write("modules.json", DumpJson(modules));
  dir.Write("1_Pooling/config.json", PoolingJson(options));
  if (options.max_seq_length.has_value()) {
    dir.Write("sentence_bert_config.json",
              DumpJson({{"max_seq_length", *options.max_seq_length}, {"do_lower_case", false}}));
  }
}

}  // namespace

std::vector<TinyTensor> TinyTensors(const TinyModelOptions& options) {
  const int64_t hidden = options.hidden;
  TensorList list(options.seed);
  list.Add("embeddings.word_embeddings.weight", {VocabRows(options), hidden}, 1);
  list.Add("embeddings.position_embeddings.weight", {options.max_positions, hidden}, 1);
  list.Add("embeddings.token_type_embeddings.weight", {options.type_vocab, hidden}, 1);
  list.AddNorm("embeddings.LayerNorm", hidden);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string prefix = absl::StrCat("encoder.layer.", layer, ".");
    for (const char* part : {"query", "key", "value"}) {
      list.AddLinear(absl::StrCat(prefix, "attention.self.", part), hidden, hidden);
    }
    list.AddLinear(prefix + "attention.output.dense", hidden, hidden);
    list.AddNorm(prefix + "attention.output.LayerNorm", hidden);
    list.AddLinear(prefix + "intermediate.dense", options.ffn, hidden);
    list.AddLinear(prefix + "output.dense", hidden, options.ffn);
    list.AddNorm(prefix + "output.LayerNorm", hidden);
  }
  return list.Take();
}

std::vector<TensorToWrite> TinyFileTensors(const TinyModelOptions& options) {
  static constexpr absl::string_view kDtypes[] = {"F32", "F16", "BF16"};
  std::vector<TensorToWrite> result;
  for (const TinyTensor& tensor : TinyTensors(options)) {
    const std::string dtype =
        options.dtype == "mixed" ? std::string(kDtypes[result.size() % 3]) : options.dtype;
    result.push_back({FileTensorName(options, tensor.name), dtype, tensor.shape,
                      EncodeValues(dtype, tensor.values)});
  }
  if (options.unused_tensors) {
    const int64_t positions = options.max_positions;
    std::string ids;
    for (int64_t i = 0; i < positions; ++i) ids += LittleEndian(static_cast<uint64_t>(i), 8);
    result.push_back({options.prefix + "embeddings.position_ids", "I64", {1, positions}, ids});
    const std::string zeros(static_cast<size_t>(4 * options.hidden), '\0');
    result.push_back({options.prefix + "pooler.dense.bias", "F32", {options.hidden}, zeros});
    result.push_back({"cls.predictions.bias", "F32", {options.hidden}, zeros});
  }
  return result;
}

TinyModel::TinyModel(const TinyModelOptions& options) : options_(options) {
  WriteConfig(options_, dir_);
  WriteWeights(options_, dir_);
  WriteTokenizer(options_, dir_);
  if (options_.modules) WriteModules(options_, dir_);
}

int32_t TinyModel::TokenId(absl::string_view token) const {
  const std::vector<std::string> tokens = Vocabulary(options_);
  const auto it = std::find(tokens.begin(), tokens.end(), std::string(token));
  ATTUNE_CHECK(it != tokens.end());
  return static_cast<int32_t>(it - tokens.begin());
}

std::vector<float> TinyModel::WordVector(absl::string_view token) const {
  for (const TinyTensor& tensor : TinyTensors(options_)) {
    if (tensor.name != "embeddings.word_embeddings.weight") continue;
    const auto row = tensor.values.begin() + TokenId(token) * options_.hidden;
    return {row, row + options_.hidden};
  }
  ATTUNE_CHECK(false);
  return {};
}

}  // namespace attune::testing
