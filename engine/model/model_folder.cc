#include "engine/model/model_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "engine/base/file_reader.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/status_macros.h"
#include "engine/model/json_fields.h"
#include "engine/model/weights.h"

namespace attune {
namespace {

constexpr int64_t kMaxConfigBytes = 16 << 20;
constexpr size_t kMaxModules = 16;
constexpr int64_t kHashChunkBytes = 1 << 20;
// A tokenizer without a limit says so with a huge number, usually int(1e30).
constexpr double kUnsetModelMaxLength = 1e9;
// [CLS], one token, [SEP].
constexpr int64_t kMinMaxTokens = 3;

// The names that sentence-transformers gives the Transformer module's file, by model class, in the
// order in which it looks for them.
constexpr std::array<absl::string_view, 7> kSentenceConfigs = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

// Files beside the weights that decide which vector a text gets.
constexpr std::array<absl::string_view, 6> kTransformerFiles = {
    "tokenizer.json",          "vocab.txt",         "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "config.json"};

struct PoolingName {
  absl::string_view name;  // in "pooling_mode", from sentence-transformers 5.4
  absl::string_view flag;  // the boolean of older files
  PoolingMode mode;
};
// In the order in which the results of several booleans are concatenated.
constexpr std::array<PoolingName, 6> kPoolingNames = {{
    {"cls", "pooling_mode_cls_token", PoolingMode::kCls},
    {"max", "pooling_mode_max_tokens", PoolingMode::kMax},
    {"mean", "pooling_mode_mean_tokens", PoolingMode::kMean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLen},
    {"weightedmean", "pooling_mode_weightedmean_tokens", PoolingMode::kWeightedMean},
    {"lasttoken", "pooling_mode_lasttoken", PoolingMode::kLastToken},
}};

// A file of the model and what it says; errors carry its path.
struct JsonFile {
  std::string path;
  Json json;
};

absl::StatusOr<JsonFile> ReadJsonFile(const std::string& folder, absl::string_view name) {
  JsonFile file;
  ATTUNE_ASSIGN_OR_RETURN(file.path, JoinModelPath(folder, name));
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file.path, kMaxConfigBytes));
  absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return AnnotateStatus(json.status(), file.path);
  file.json = *std::move(json);
  return file;
}

// The same for a file that must hold an object.
absl::StatusOr<JsonFile> ReadObjectFile(const std::string& folder, absl::string_view name) {
  ATTUNE_ASSIGN_OR_RETURN(JsonFile file, ReadJsonFile(folder, name));
  if (!file.json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": not a JSON object"));
  }
  return file;
}

absl::StatusOr<bool> HasFile(const std::string& folder, absl::string_view name) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, JoinModelPath(folder, name));
  return PathExists(path);
}

// ---- modules.json -------------------------------------------------------------------------------

struct Module {
  std::string kind;  // last component of its type
  std::string path;
};

absl::StatusOr<Module> ParseModule(const Json& entry, int64_t place) {
  if (!entry.is_object()) return absl::InvalidArgumentError("it is not an object");
  if (FindMember(entry, "idx") != nullptr) {
    ATTUNE_RETURN_IF_ERROR(IntMember(entry, "idx", place, place).status());
  }
  Module module;
  ATTUNE_ASSIGN_OR_RETURN(const std::string type, StringMember(entry, "type", ""));
  ATTUNE_ASSIGN_OR_RETURN(module.path, StringMember(entry, "path", ""));
  // The Python package has moved its classes between releases; the class name has stayed.
  module.kind = type.substr(type.rfind('.') + 1);
  const auto& kind = module.kind;
  if (kind != "Transformer" && kind != "Pooling" && kind != "Normalize") {
    return absl::UnimplementedError(absl::StrCat("\"type\" is ", QuoteJson(ShortenForMessage(type)),
                                                 "; Transformer, Pooling and Normalize are built"));
  }
  return module;
}

// A pipeline that can be run: Transformer, Pooling and, if wanted, Normalize.
absl::StatusOr<std::vector<Module>> ReadModules(const std::string& folder) {
  ATTUNE_ASSIGN_OR_RETURN(const JsonFile file, ReadJsonFile(folder, "modules.json"));
  if (!file.json.is_array() || file.json.size() > kMaxModules) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": not an array of at most ", kMaxModules, " modules"));
  }
  std::vector<Module> modules;
  std::string order;
  for (const Json& entry : file.json) {
    const std::string place = absl::StrCat(file.path, ": module ", modules.size());
    absl::StatusOr<Module> module = ParseModule(entry, static_cast<int64_t>(modules.size()));
    if (!module.ok()) return AnnotateStatus(module.status(), place);
    const absl::Status inside = JoinModelPath(folder, module->path).status();
    if (!inside.ok()) return AnnotateStatus(inside, place);
    absl::StrAppend(&order, order.empty() ? "" : ", ", module->kind);
    modules.push_back(*std::move(module));
  }
  if (order != "Transformer, Pooling" && order != "Transformer, Pooling, Normalize") {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": the modules are [", order,
                     "]; they must be Transformer, Pooling and optionally Normalize"));
  }
  return modules;
}

// ---- Pooling ------------------------------------------------------------------------------------

absl::StatusOr<PoolingMode> ParsePoolingMode(const Json& name) {
  for (const PoolingName& known : kPoolingNames) {
    if (name == std::string(known.name)) return known.mode;
  }
  return absl::UnimplementedError(
      absl::StrCat("\"pooling_mode\" has ", Shown(name),
                   "; cls, max, mean, mean_sqrt_len_tokens, weightedmean and lasttoken are built"));
}

// "pooling_mode": one name or a list of names.
absl::StatusOr<std::vector<PoolingMode>> PoolingFromNames(const Json& names) {
  std::vector<PoolingMode> modes;
  const Json list = names.is_array() ? names : Json::array({names});
  if (list.size() > kPoolingNames.size()) {
    return absl::InvalidArgumentError(absl::StrCat("\"pooling_mode\" lists ", list.size(),
                                                   " modes; there are ", kPoolingNames.size()));
  }
  for (const Json& name : list) {
    ATTUNE_ASSIGN_OR_RETURN(const PoolingMode mode, ParsePoolingMode(name));
    if (std::find(modes.begin(), modes.end(), mode) != modes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"pooling_mode\" lists ", Shown(name), " twice"));
    }
    modes.push_back(mode);
  }
  return modes;
}

// "pooling_mode_mean_tokens": true and the like.
absl::StatusOr<std::vector<PoolingMode>> PoolingFromFlags(const Json& json) {
  std::vector<PoolingMode> modes;
  for (const PoolingName& known : kPoolingNames) {
    ATTUNE_ASSIGN_OR_RETURN(const bool on, BoolMember(json, known.flag, false));
    if (on) modes.push_back(known.mode);
  }
  for (const auto& [key, value] : json.items()) {
    const bool known =
        std::any_of(kPoolingNames.begin(), kPoolingNames.end(),
                    [&key = key](const PoolingName& name) { return name.flag == key; });
    if (absl::StartsWith(key, "pooling_mode_") && !known && value != false) {
      return absl::UnimplementedError(
          absl::StrCat("\"", ShortenForMessage(key), "\" is a pooling mode that is not built"));
    }
  }
  return modes;
}

absl::StatusOr<std::vector<PoolingMode>> ParsePooling(const Json& json, int64_t hidden) {
  for (absl::string_view key : {"word_embedding_dimension", "embedding_dimension"}) {
    if (FindMember(json, key) == nullptr) continue;
    const absl::Status same = IntMember(json, key, hidden, hidden).status();
    if (!same.ok()) return AnnotateStatus(same, "differs from config.json's hidden_size");
  }
  ATTUNE_RETURN_IF_ERROR(BoolMember(json, "include_prompt", true).status());
  const Json* names = FindMember(json, "pooling_mode");
  ATTUNE_ASSIGN_OR_RETURN(std::vector<PoolingMode> modes,
                          names != nullptr ? PoolingFromNames(*names) : PoolingFromFlags(json));
  if (modes.empty()) return absl::InvalidArgumentError("no pooling mode is on");
  return modes;
}

// ---- The longest text ---------------------------------------------------------------------------

// tokenizer_config.json's model_max_length, if it is a limit.
absl::StatusOr<std::optional<int64_t>> ModelMaxLength(const Json& json) {
  const Json* member = FindMember(json, "model_max_length");
  // The sentinel has 31 digits, which the parser turns into a float.
  if (member == nullptr || (member->is_number() && member->get<double>() >= kUnsetModelMaxLength)) {
    return std::nullopt;
  }
  return IntMember(json, "model_max_length", 1, static_cast<int64_t>(kUnsetModelMaxLength));
}

absl::Status ReadSentenceConfig(ModelFolder& folder, std::optional<int64_t>& max_seq_length) {
  for (absl::string_view name : kSentenceConfigs) {
    ATTUNE_ASSIGN_OR_RETURN(const bool there, HasFile(folder.transformer_path, name));
    if (!there) continue;
    ATTUNE_ASSIGN_OR_RETURN(const JsonFile file, ReadObjectFile(folder.transformer_path, name));
    const absl::StatusOr<bool> lower = BoolMember(file.json, "do_lower_case", false);
    if (!lower.ok()) return AnnotateStatus(lower.status(), file.path);
    folder.lower_case_first = *lower;
    if (FindMember(file.json, "max_seq_length") == nullptr) return absl::OkStatus();
    const absl::StatusOr<int64_t> length =
        IntMember(file.json, "max_seq_length", 1, std::numeric_limits<int32_t>::max());
    if (!length.ok()) return AnnotateStatus(length.status(), file.path);
    max_seq_length = *length;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status ReadLimits(ModelFolder& folder) {
  std::optional<int64_t> limit;
  ATTUNE_RETURN_IF_ERROR(ReadSentenceConfig(folder, limit));
  ATTUNE_ASSIGN_OR_RETURN(const bool there,
                          HasFile(folder.transformer_path, "tokenizer_config.json"));
  if (there) {
    ATTUNE_ASSIGN_OR_RETURN(const JsonFile file,
                            ReadObjectFile(folder.transformer_path, "tokenizer_config.json"));
    const auto model_max_length = ModelMaxLength(file.json);
    if (!model_max_length.ok()) return AnnotateStatus(model_max_length.status(), file.path);
    if (!limit.has_value()) limit = *model_max_length;
  }
  // Whatever the files promise, there is no position beyond the table.
  folder.max_tokens =
      std::min(limit.value_or(folder.config.max_positions), folder.config.max_positions);
  if (folder.max_tokens < kMinMaxTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.transformer_path, ": texts may have only ", folder.max_tokens,
                     " tokens; two specials and one token need ", kMinMaxTokens));
  }
  return absl::OkStatus();
}

// ---- Revision -----------------------------------------------------------------------------------

absl::StatusOr<std::string> HashFile(const FileReader& file) {
  Sha256 hash;
  std::string chunk(static_cast<size_t>(kHashChunkBytes), '\0');
  for (int64_t offset = 0; offset < file.size_bytes(); offset += kHashChunkBytes) {
    const int64_t bytes = std::min(kHashChunkBytes, file.size_bytes() - offset);
    ATTUNE_RETURN_IF_ERROR(file.ReadAt(offset, bytes, chunk.data()));
    hash.Update(absl::string_view(chunk).substr(0, static_cast<size_t>(bytes)));
  }
  return hash.HexDigest();
}

// The names of all files that decide which vector a text gets, there or not, sorted.
absl::StatusOr<std::vector<std::string>> RevisionFiles(const ModelFolder& folder) {
  const std::string inner(
      absl::StripPrefix(absl::StripPrefix(folder.transformer_path, folder.path), "/"));
  const std::string prefix = inner.empty() ? "" : inner + "/";
  std::vector<std::string> names = {"modules.json", "config_sentence_transformers.json"};
  if (!folder.pooling_module.empty()) names.push_back(folder.pooling_module + "/config.json");
  for (absl::string_view name : kTransformerFiles) names.push_back(absl::StrCat(prefix, name));
  for (absl::string_view name : kSentenceConfigs) names.push_back(absl::StrCat(prefix, name));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> weights,
                          WeightFiles(folder.transformer_path));
  for (const std::string& name : weights) names.push_back(prefix + name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status SetRevision(ModelFolder& folder) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, RevisionFiles(folder));
  std::string listing;
  for (const std::string& name : names) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string path, JoinModelPath(folder.path, name));
    if (!PathExists(path)) continue;
    ATTUNE_ASSIGN_OR_RETURN(const FileReader file, FileReader::Open(path));
    ATTUNE_ASSIGN_OR_RETURN(const std::string digest, HashFile(file));
    absl::StrAppend(&listing, digest, "  ", name, "\n");
    folder.hashed_files.push_back({path, file.stamp()});
  }
  folder.revision = Sha256Hex(listing);
  return absl::OkStatus();
}

// What people call the model: the folder's own name, or, in the hub's cache, where that is a commit
// hash (models--ORG--NAME/snapshots/HASH), ORG/NAME.
std::string ModelName(const std::string& path) {
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "name/" ends in an empty part
  const std::filesystem::path snapshots = folder.parent_path();
  const std::string repository = snapshots.parent_path().filename().string();
  absl::string_view name = repository;
  if (snapshots.filename() == "snapshots" && absl::ConsumePrefix(&name, "models--")) {
    return absl::StrReplaceAll(name, {{"--", "/"}});
  }
  return folder.filename().string();
}

}  // namespace

absl::Status ModelFolder::CheckUnchanged() const {
  for (const HashedFile& hashed : hashed_files) {
    const absl::StatusOr<FileReader> file = FileReader::Open(hashed.path);
    if (!file.ok() || file->stamp() != hashed.stamp) {
      return absl::AbortedError(
          absl::StrCat(hashed.path, " changed while the model was being loaded"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& path) {
  if (!PathExists(path)) {
    return absl::NotFoundError(absl::StrCat("model folder ", path, " does not exist"));
  }
  ModelFolder folder;
  folder.path = path;
  folder.name = ModelName(path);
  folder.transformer_path = path;
  ATTUNE_ASSIGN_OR_RETURN(const bool has_modules, HasFile(path, "modules.json"));
  std::vector<Module> modules;
  if (has_modules) {
    ATTUNE_ASSIGN_OR_RETURN(modules, ReadModules(path));
    ATTUNE_ASSIGN_OR_RETURN(folder.transformer_path, JoinModelPath(path, modules[0].path));
    folder.normalize = modules.size() == 3;
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string config_path,
                          JoinModelPath(folder.transformer_path, "config.json"));
  ATTUNE_ASSIGN_OR_RETURN(const std::string config_text, ReadFile(config_path, kMaxConfigBytes));
  absl::StatusOr<ModelConfig> config = ParseModelConfig(config_text);
  if (!config.ok()) return AnnotateStatus(config.status(), config_path);
  folder.config = *std::move(config);

  folder.pooling = {PoolingMode::kMean};
  if (has_modules) {
    folder.pooling_module = modules[1].path;
    ATTUNE_ASSIGN_OR_RETURN(const std::string pooling_path,
                            JoinModelPath(path, folder.pooling_module));
    ATTUNE_ASSIGN_OR_RETURN(const JsonFile file, ReadObjectFile(pooling_path, "config.json"));
    absl::StatusOr<std::vector<PoolingMode>> pooling =
        ParsePooling(file.json, folder.config.hidden);
    if (!pooling.ok()) return AnnotateStatus(pooling.status(), file.path);
    folder.pooling = *std::move(pooling);
  }
  ATTUNE_RETURN_IF_ERROR(ReadLimits(folder));
  return folder;
}

absl::StatusOr<ModelFolder> OpenModelFolder(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(ModelFolder folder, ReadModelFolder(path));
  ATTUNE_RETURN_IF_ERROR(SetRevision(folder));
  return folder;
}

}  // namespace attune
