// The reader of safetensors headers: any bytes give an error, or tensors that tile the file.
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view file(reinterpret_cast<const char*>(data), size);
  const auto header = attune::ParseSafetensorsHeader(file, static_cast<int64_t>(size));
  if (!header.ok()) {
    ATTUNE_CHECK(!header.status().message().empty());
    return 0;
  }
  int64_t bytes = header->data_begin;
  for (const auto& [name, tensor] : header->tensors) {
    ATTUNE_CHECK(tensor.begin >= 0 && tensor.begin <= tensor.end);
    ATTUNE_CHECK(header->data_begin + tensor.end <= static_cast<int64_t>(size));
    bytes += tensor.end - tensor.begin;
  }
  ATTUNE_CHECK(bytes == static_cast<int64_t>(size));
  return 0;
}
