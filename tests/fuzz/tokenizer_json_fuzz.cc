// The reader of tokenizer.json: any bytes give a tokenizer or an error, and a tokenizer that was
// built can be used.
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attune::TokenizerFiles files;
  files.tokenizer_json.assign(reinterpret_cast<const char*>(data), size);
  if (files.tokenizer_json.empty()) return 0;
  const auto tokenizer = attune::Tokenizer::Create(files);
  if (!tokenizer.ok()) {
    ATTUNE_CHECK(!tokenizer.status().message().empty());
    return 0;
  }
  attune::TokenizeOptions options;
  options.offsets = true;
  const auto encoding =
      (*tokenizer)->EncodePair("A [SEP] caf\u00e9 \u4e2d\u6587 <mask> unaffable!", "b", options);
  ATTUNE_CHECK(encoding.ok());
  for (const int32_t id : encoding->ids) {
    ATTUNE_CHECK(id >= 0 && id < (*tokenizer)->id_limit());
  }
  return 0;
}
