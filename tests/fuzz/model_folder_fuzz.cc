// The JSON files of a model folder: with any bytes in one of them, the folder opens and loads, or
// there is an error. The first byte of the input chooses the file.
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/base/log.h"
#include "engine/model/model_folder.h"
#include "engine/model/weights.h"
#include "tests/support/tiny_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static constexpr std::array<absl::string_view, 5> kFiles = {
      "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json",
      "model.safetensors.index.json"};
  static const attune::testing::TinyModel model({.shards = 2, .max_seq_length = 32});
  attune::SetLogLevel(attune::LogLevel::kError);
  if (size == 0) return 0;
  const absl::string_view file = kFiles[data[0] % kFiles.size()];
  const std::string original = model.dir().Read(file);
  model.dir().Write(file, {reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto folder = attune::OpenModelFolder(model.path());
  if (folder.ok()) {
    ATTUNE_CHECK(folder->max_tokens > 0 && folder->max_tokens <= folder->config.max_positions);
    ATTUNE_CHECK(!folder->pooling.empty());
    const auto weights = attune::LoadWeights(folder->transformer_path, folder->config);
    ATTUNE_CHECK(weights.ok() || !weights.status().message().empty());
  }
  model.dir().Write(file, original);
  return 0;
}
