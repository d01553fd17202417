// Writes safetensors files, right ones and deliberately wrong ones.
#ifndef ATTUNE_TESTS_SUPPORT_SAFETENSORS_WRITER_H_
#define ATTUNE_TESTS_SUPPORT_SAFETENSORS_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attune::testing {

struct TensorToWrite {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string data;  // as many bytes as dtype and shape say, which is not checked here
};

// The file that holds `tensors` in this order, and metadata as PyTorch writes it.
std::string SafetensorsBytes(const std::vector<TensorToWrite>& tensors);

// Length, header and data as they are given.
std::string RawSafetensors(absl::string_view header, absl::string_view data);

// `value` in `bytes` bytes, least significant first.
std::string LittleEndian(uint64_t value, int bytes);

// `values` in "F32", "F16" or "BF16". REQUIRES: the dtype holds each of them exactly (checked).
std::string EncodeValues(absl::string_view dtype, absl::Span<const float> values);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_SAFETENSORS_WRITER_H_
