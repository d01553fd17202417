// The reader of config.json: any bytes give an error, or sizes that can be computed with.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/model/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = attune::ParseModelConfig({reinterpret_cast<const char*>(data), size});
  if (!config.ok()) {
    ATTUNE_CHECK(!config.status().message().empty());
    return 0;
  }
  ATTUNE_CHECK(config->hidden > 0 && config->heads > 0);
  ATTUNE_CHECK(config->head_dim() * config->heads == config->hidden);
  int64_t floats = 0;
  ATTUNE_CHECK(!__builtin_mul_overflow(config->vocab, config->hidden, &floats));
  ATTUNE_CHECK(!__builtin_mul_overflow(config->layers * config->ffn, config->hidden, &floats));
  ATTUNE_CHECK(!__builtin_mul_overflow(config->max_positions, config->hidden, &floats));
  ATTUNE_CHECK(std::isnormal(config->layer_norm_epsilon) && config->layer_norm_epsilon > 0);
  return 0;
}
