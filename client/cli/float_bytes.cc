#include "client/cli/float_bytes.h"

#include <bit>
#include <cstring>

namespace attune::cli {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  // memcpy takes no null pointer, even for no bytes.
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace attune::cli
