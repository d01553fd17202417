#include "engine/model/weights.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "engine/base/check.h"
#include "engine/base/file_reader.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "engine/model/json_fields.h"
#include "engine/model/safetensors.h"

namespace attune {
namespace {

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = 64 << 20;
constexpr size_t kMaxShards = 1'000;  // all are open at once, so stay below the usual 1,024
constexpr size_t kMaxIgnoredNamesLogged = 20;

// What the same encoder is called inside the classes it is saved from.
constexpr std::array<absl::string_view, 4> kPrefixes = {"0.auto_model.", "bert.", "model.",
                                                        "roberta."};

// ---- Where the weights are ----------------------------------------------------------------------

// tensor name -> shard file, from model.safetensors.index.json.
using WeightMap = absl::btree_map<std::string, std::string>;

absl::StatusOr<WeightMap> ReadIndex(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  const absl::StatusOr<Json> json = ParseJsonObject(text);
  if (!json.ok()) return AnnotateStatus(json.status(), path);
  const Json* map = FindMember(*json, "weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": \"weight_map\" is not an object with at least one tensor"));
  }
  WeightMap weight_map;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": the file of tensor ",
                                                     QuoteJson(ShortenForMessage(tensor)), " is ",
                                                     Shown(file), ", not a string"));
    }
    weight_map.emplace(tensor, file.get<std::string>());
  }
  return weight_map;
}

struct WeightLayout {
  std::vector<std::string> shards;  // sorted, relative to the folder
  WeightMap weight_map;             // empty without an index
};

absl::StatusOr<WeightLayout> FindWeights(const std::string& folder) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string single, JoinModelPath(folder, kSingleFile));
  if (PathExists(single)) return WeightLayout{{kSingleFile}, {}};
  ATTUNE_ASSIGN_OR_RETURN(const std::string index, JoinModelPath(folder, kIndexFile));
  if (!PathExists(index)) {
    return absl::NotFoundError(absl::StrCat(folder, " has neither ", kSingleFile, " nor ",
                                            kIndexFile, "; weights in other formats are not read"));
  }
  WeightLayout layout;
  ATTUNE_ASSIGN_OR_RETURN(layout.weight_map, ReadIndex(index));
  std::set<std::string> files;
  for (const auto& [tensor, file] : layout.weight_map) files.insert(file);
  if (files.size() > kMaxShards) {
    return absl::InvalidArgumentError(
        absl::StrCat(index, " lists ", files.size(), " files; the limit is ", kMaxShards));
  }
  layout.shards.assign(files.begin(), files.end());
  return layout;
}

// ---- What the configuration expects -------------------------------------------------------------

// One tensor of the file and the place of its values: elements [offset, offset + product of shape)
// of `matrix`, which gets [rows, cols] when its first part arrives.
struct Slot {
  std::string name;
  std::vector<int64_t> shape;
  Matrix* matrix;
  int64_t rows;
  int64_t cols;
  int64_t offset;
};

// Collects the slots of a model, in the order in which they are read.
class SlotList {
 public:
  void AddTable(const std::string& name, int64_t rows, int64_t cols, Matrix& matrix) {
    slots_.push_back({name + ".weight", {rows, cols}, &matrix, rows, cols, 0});
  }
  // Part `part` of `parts` that lie one above the other in one fused matrix.
  void AddLinear(const std::string& name, int64_t out, int64_t in, LinearWeights& linear,
                 int64_t part = 0, int64_t parts = 1) {
    slots_.push_back(
        {name + ".weight", {out, in}, &linear.weights, parts * out, in, part * out * in});
    slots_.push_back({name + ".bias", {out}, &linear.bias, 1, parts * out, part * out});
  }
  void AddNorm(const std::string& name, int64_t hidden, LayerNormWeights& norm) {
    slots_.push_back({name + ".weight", {hidden}, &norm.gamma, 1, hidden, 0});
    slots_.push_back({name + ".bias", {hidden}, &norm.beta, 1, hidden, 0});
  }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  std::vector<Slot> slots_;
};

// The slots point into `weights`.
SlotList EmbeddingSlots(const ModelConfig& config, ModelWeights& weights) {
  const int64_t hidden = config.hidden;
  SlotList list;
  list.AddTable("embeddings.word_embeddings", config.vocab, hidden, weights.word_embeddings);
  list.AddTable("embeddings.position_embeddings", config.max_positions, hidden,
                weights.position_embeddings);
  list.AddTable("embeddings.token_type_embeddings", config.type_vocab, hidden,
                weights.type_embeddings);
  list.AddNorm("embeddings.LayerNorm", hidden, weights.embedding_norm);
  return list;
}

// The slots point into `layer`.
SlotList LayerSlots(const ModelConfig& config, int64_t index, LayerWeights& layer) {
  const int64_t hidden = config.hidden;
  const std::string prefix = absl::StrCat("encoder.layer.", index, ".");
  const std::string self = prefix + "attention.self.";
  SlotList list;
  list.AddLinear(self + "query", hidden, hidden, layer.qkv, 0, 3);
  list.AddLinear(self + "key", hidden, hidden, layer.qkv, 1, 3);
  list.AddLinear(self + "value", hidden, hidden, layer.qkv, 2, 3);
  list.AddLinear(prefix + "attention.output.dense", hidden, hidden, layer.attention_output);
  list.AddNorm(prefix + "attention.output.LayerNorm", hidden, layer.attention_norm);
  list.AddLinear(prefix + "intermediate.dense", config.ffn, hidden, layer.ffn_input);
  list.AddLinear(prefix + "output.dense", hidden, config.ffn, layer.ffn_output);
  list.AddNorm(prefix + "output.LayerNorm", hidden, layer.ffn_norm);
  return list;
}

// What every slot of the model is called and shaped. Nothing is read into these.
std::vector<Slot> AllSlots(const ModelConfig& config) {
  ModelWeights embeddings;
  LayerWeights layer;
  std::vector<Slot> slots = EmbeddingSlots(config, embeddings).slots();
  for (int64_t l = 0; l < config.layers; ++l) {
    const SlotList list = LayerSlots(config, l, layer);
    slots.insert(slots.end(), list.slots().begin(), list.slots().end());
  }
  for (Slot& slot : slots) slot.matrix = nullptr;
  return slots;
}

// ---- What the files hold ------------------------------------------------------------------------

// The name BertModel itself gives the tensor that a file calls `name`.
std::string CanonicalName(absl::string_view name) {
  for (absl::string_view prefix : kPrefixes) {
    absl::string_view rest = name;
    if (absl::ConsumePrefix(&rest, prefix) &&
        (absl::StartsWith(rest, "embeddings.") || absl::StartsWith(rest, "encoder."))) {
      name = rest;
      break;
    }
  }
  if (absl::EndsWith(name, "LayerNorm.gamma")) {
    return absl::StrCat(absl::StripSuffix(name, "gamma"), "weight");
  }
  if (absl::EndsWith(name, "LayerNorm.beta")) {
    return absl::StrCat(absl::StripSuffix(name, "beta"), "bias");
  }
  return std::string(name);
}

bool BelongsToEncoder(absl::string_view name) {
  // Buffers of older transformers: 0, 1, 2, ... and zeros.
  if (name == "embeddings.position_ids" || name == "embeddings.token_type_ids") return false;
  return absl::StartsWith(name, "embeddings.") || absl::StartsWith(name, "encoder.");
}

// A tensor as one of the files has it.
struct Source {
  const SafetensorsFile* file;
  const std::string* name;
  const TensorInfo* info;

  std::string Describe() const {
    return absl::StrCat(file->path(), ": tensor ", QuoteJson(ShortenForMessage(*name)));
  }
};

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// All tensors of all files of a model, by canonical name.
class WeightSource {
 public:
  static absl::StatusOr<WeightSource> Open(const std::string& folder);

  // The encoder's tensors are exactly those of `slots`, with their shapes.
  absl::Status Check(const std::vector<Slot>& slots) const;

  absl::Status Read(const SlotList& list) const;

  // Tensors that no slot asked for.
  void LogIgnored() const;

 private:
  absl::Status ReadSlot(const Slot& slot) const;

  std::vector<SafetensorsFile> files_;
  absl::btree_map<std::string, std::vector<Source>> tensors_;
};

absl::StatusOr<WeightSource> WeightSource::Open(const std::string& folder) {
  ATTUNE_ASSIGN_OR_RETURN(const WeightLayout layout, FindWeights(folder));
  WeightSource source;
  source.files_.reserve(layout.shards.size());  // Source points at the elements
  absl::btree_map<std::string, const SafetensorsFile*> by_name;
  for (const std::string& shard : layout.shards) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string path, JoinModelPath(folder, shard));
    ATTUNE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
    source.files_.push_back(std::move(file));
    by_name[shard] = &source.files_.back();
  }
  for (const auto& [tensor, shard] : layout.weight_map) {
    if (by_name[shard]->header().tensors.contains(tensor)) continue;
    return absl::NotFoundError(absl::StrCat(by_name[shard]->path(), ": no tensor ",
                                            QuoteJson(ShortenForMessage(tensor)), ", which ",
                                            kIndexFile, " says is there"));
  }
  for (const SafetensorsFile& file : source.files_) {
    for (const auto& [name, info] : file.header().tensors) {
      source.tensors_[CanonicalName(name)].push_back({&file, &name, &info});
    }
  }
  return source;
}

absl::Status WeightSource::Check(const std::vector<Slot>& slots) const {
  std::set<absl::string_view> expected;
  for (const Slot& slot : slots) {
    expected.insert(slot.name);
    const auto found = tensors_.find(slot.name);
    if (found == tensors_.end()) {
      return absl::NotFoundError(
          absl::StrCat(files_.front().path(), files_.size() > 1 ? " and the other shards" : "",
                       ": no tensor \"", slot.name, "\" ", ShapeText(slot.shape)));
    }
    for (const Source& source : found->second) {
      if (source.info->shape == slot.shape) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(source.Describe(), " has shape ", ShapeText(source.info->shape),
                       "; config.json asks for ", ShapeText(slot.shape)));
    }
  }
  for (const auto& [name, sources] : tensors_) {
    if (BelongsToEncoder(name) && expected.count(name) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          sources.front().Describe(), " has no place in the encoder that config.json describes"));
    }
  }
  return absl::OkStatus();
}

absl::Status WeightSource::Read(const SlotList& list) const {
  try {
    for (const Slot& slot : list.slots()) ATTUNE_RETURN_IF_ERROR(ReadSlot(slot));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(files_.front().path(), ": not enough memory for the model's weights"));
  }
  return absl::OkStatus();
}

absl::Status WeightSource::ReadSlot(const Slot& slot) const {
  if (slot.matrix->span().empty()) *slot.matrix = Matrix(slot.rows, slot.cols);
  const std::vector<Source>& sources = tensors_.at(slot.name);
  const Source& first = sources.front();
  const absl::Span<float> dst = slot.matrix->span().subspan(
      static_cast<size_t>(slot.offset), static_cast<size_t>(first.info->elements));
  ATTUNE_RETURN_IF_ERROR(first.file->ReadF32(*first.name, dst));
  for (size_t i = 1; i < sources.size(); ++i) {
    std::vector<float> again(dst.size());
    ATTUNE_RETURN_IF_ERROR(sources[i].file->ReadF32(*sources[i].name, absl::MakeSpan(again)));
    if (std::memcmp(again.data(), dst.data(), dst.size() * sizeof(float)) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          sources[i].Describe(), " differs from the same weights in ", first.Describe()));
    }
  }
  return absl::OkStatus();
}

void WeightSource::LogIgnored() const {
  std::vector<absl::string_view> names;
  size_t ignored = 0;
  for (const auto& [name, sources] : tensors_) {
    if (BelongsToEncoder(name)) continue;
    if (++ignored <= kMaxIgnoredNamesLogged) names.push_back(name);
  }
  if (ignored == 0) return;
  Log(LogLevel::kInfo, "tensors_ignored", "the encoder does not use some tensors of the file",
      {{"count", ignored}, {"tensors", ShortenForMessage(absl::StrJoin(names, " "))}});
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WeightFiles(const std::string& folder) {
  ATTUNE_ASSIGN_OR_RETURN(WeightLayout layout, FindWeights(folder));
  std::vector<std::string> files = std::move(layout.shards);
  if (!layout.weight_map.empty()) files.push_back(kIndexFile);
  std::sort(files.begin(), files.end());
  return files;
}

struct WeightReader::Impl {
  ModelConfig config;
  WeightSource source;
};

WeightReader::WeightReader(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
WeightReader::WeightReader(WeightReader&&) noexcept = default;
WeightReader& WeightReader::operator=(WeightReader&&) noexcept = default;
WeightReader::~WeightReader() = default;

absl::StatusOr<WeightReader> WeightReader::Open(const std::string& folder,
                                                const ModelConfig& config) {
  ATTUNE_ASSIGN_OR_RETURN(WeightSource source, WeightSource::Open(folder));
  ATTUNE_RETURN_IF_ERROR(source.Check(AllSlots(config)));
  source.LogIgnored();
  return WeightReader(std::make_unique<const Impl>(Impl{config, std::move(source)}));
}

absl::StatusOr<ModelWeights> WeightReader::ReadEmbeddings() const {
  ModelWeights weights;
  ATTUNE_RETURN_IF_ERROR(impl_->source.Read(EmbeddingSlots(impl_->config, weights)));
  return weights;
}

absl::StatusOr<LayerWeights> WeightReader::ReadLayer(int64_t layer) const {
  ATTUNE_CHECK(layer >= 0 && layer < impl_->config.layers);
  LayerWeights weights;
  ATTUNE_RETURN_IF_ERROR(impl_->source.Read(LayerSlots(impl_->config, layer, weights)));
  return weights;
}

absl::StatusOr<ModelWeights> LoadWeights(const std::string& folder, const ModelConfig& config) {
  ATTUNE_ASSIGN_OR_RETURN(const WeightReader reader, WeightReader::Open(folder, config));
  ATTUNE_ASSIGN_OR_RETURN(ModelWeights weights, reader.ReadEmbeddings());
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    ATTUNE_ASSIGN_OR_RETURN(weights.layers.emplace_back(), reader.ReadLayer(layer));
  }
  return weights;
}

}  // namespace attune
