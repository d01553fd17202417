#include "tests/support/safetensors_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/json.h"
#include "engine/tensor/half.h"

namespace attune::testing {
namespace {

uint16_t ExactF16(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent - 1), 2^exponent)
  // Steps of 2^-24 below 2^-14, then 1,024 of them to each power of two.
  const int step = magnitude == 0 ? -24 : std::max(exponent - 11, -24);
  const auto steps = static_cast<uint32_t>(std::ldexp(magnitude, -step));
  const uint32_t bits = steps + (static_cast<uint32_t>(step + 24) << 10);
  const auto result = static_cast<uint16_t>(sign | bits);
  ATTUNE_CHECK(std::bit_cast<uint32_t>(F16ToF32(result)) == std::bit_cast<uint32_t>(value));
  return result;
}

uint16_t ExactBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  ATTUNE_CHECK((bits & 0xffffu) == 0);
  return static_cast<uint16_t>(bits >> 16);
}

}  // namespace

std::string LittleEndian(uint64_t value, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result.push_back(static_cast<char>((value >> (8 * i)) & 0xffu));
  return result;
}

std::string RawSafetensors(absl::string_view header, absl::string_view data) {
  return absl::StrCat(LittleEndian(header.size(), 8), header, data);
}

std::string SafetensorsBytes(const std::vector<TensorToWrite>& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const TensorToWrite& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
    data += tensor.data;
  }
  return RawSafetensors(DumpJson(header), data);
}

std::string EncodeValues(absl::string_view dtype, absl::Span<const float> values) {
  std::string data;
  for (float value : values) {
    if (dtype == "F32") {
      data += LittleEndian(std::bit_cast<uint32_t>(value), 4);
    } else if (dtype == "F16") {
      data += LittleEndian(ExactF16(value), 2);
    } else {
      ATTUNE_CHECK(dtype == "BF16");
      data += LittleEndian(ExactBf16(value), 2);
    }
  }
  return data;
}

}  // namespace attune::testing
