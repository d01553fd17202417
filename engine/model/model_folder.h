// A Hugging Face / sentence-transformers model folder: which files it has and what they say.
#ifndef ATTUNE_ENGINE_MODEL_MODEL_FOLDER_H_
#define ATTUNE_ENGINE_MODEL_MODEL_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/file_reader.h"
#include "engine/model/config.h"
#include "engine/ops/pooling.h"

namespace attune {

// Everything about a folder except its weights and its vocabulary. Immutable.
struct ModelFolder {
  std::string path;              // the folder itself
  std::string name;              // for people: the folder's name, or ORG/NAME in the hub's cache
  std::string transformer_path;  // where config.json, the weights and the tokenizer are
  std::string pooling_module;    // the Pooling module's folder inside it, or ""
  ModelConfig config;
  std::vector<PoolingMode> pooling;  // concatenated in this order; at least one
  bool normalize = false;            // a Normalize module ends the pipeline
  bool lower_case_first = false;     // sentence_bert_config.json's do_lower_case
  // Tokens per text, specials included: max_seq_length where given, else the tokenizer's
  // model_max_length, and never more than the position table has rows.
  int64_t max_tokens = 0;
  // Names the exact files: the SHA-256 of the lines that `sha256sum` prints for those that are
  // there, sorted by name, of the weights (with their index), config.json, tokenizer.json,
  // vocab.txt, tokenizer_config.json, special_tokens_map.json, added_tokens.json,
  // sentence_*_config.json, modules.json, the Pooling module's config.json and
  // config_sentence_transformers.json.
  std::string revision;

  // kAborted, naming the file, if one that the revision names has been replaced or written to since
  // OpenModelFolder. Asked after everything is loaded, so that the revision speaks of what is used.
  absl::Status CheckUnchanged() const;

  struct HashedFile {
    std::string path;
    FileStamp stamp;
  };
  std::vector<HashedFile> hashed_files;  // what CheckUnchanged looks at

  int64_t dimension() const { return config.hidden * static_cast<int64_t>(pooling.size()); }
};

// Reads config.json, modules.json, the Pooling module's config.json, sentence_bert_config.json and
// tokenizer_config.json, and hashes the files. Without modules.json: the transformer with mean
// pooling, not normalised. Errors name the file and the reason: kNotFound, kInvalidArgument,
// kUnimplemented for a module, family or option that is not built.
absl::StatusOr<ModelFolder> OpenModelFolder(const std::string& path);

// The same without revision and hashed_files: quick, because no large file is read.
absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& path);

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_MODEL_FOLDER_H_
