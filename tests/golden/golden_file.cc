#include "tests/golden/golden_file.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>

#include "absl/strings/escaping.h"

namespace attune::testing {
namespace {

[[noreturn]] void Die(const std::string& message) {
  std::cerr << message << std::endl;
  std::exit(1);
}

}  // namespace

Json ReadGoldenFile(const std::string& name) {
  const std::string path = std::string(ATTUNE_GOLDEN_DIR) + "/" + name;
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("cannot open the golden file " + path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) Die(path + ": " + json.status().ToString());
  return *std::move(json);
}

std::vector<float> FloatsOf(const Json& base64) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes;
  if (!absl::Base64Unescape(base64.get_ref<const std::string&>(), &bytes) ||
      bytes.size() % sizeof(float) != 0) {
    Die("a golden file holds floats that are not base64 of f32");
  }
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

std::vector<int32_t> IdsOf(const Json& list) { return list.get<std::vector<int32_t>>(); }
std::vector<int64_t> NumbersOf(const Json& list) { return list.get<std::vector<int64_t>>(); }

Difference Compare(absl::Span<const float> expected, absl::Span<const float> actual) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (expected.size() != actual.size()) return {.max_abs = kInfinity};
  Difference worst;
  for (size_t i = 0; i < expected.size(); ++i) {
    double difference = std::abs(double{expected[i]} - actual[i]);
    if (std::isnan(difference)) difference = kInfinity;
    if (difference > worst.max_abs) worst = {difference, i, expected[i], actual[i]};
  }
  return worst;
}

std::ostream& operator<<(std::ostream& out, const Difference& difference) {
  return out << "largest difference " << difference.max_abs << " at index " << difference.index
             << ": expected " << difference.expected << ", found " << difference.actual;
}

double Cosine(absl::Span<const float> a, absl::Span<const float> b) {
  double dot = 0;
  double a_square = 0;
  double b_square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    a_square += double{a[i]} * a[i];
    b_square += double{b[i]} * b[i];
  }
  return dot / std::sqrt(a_square * b_square);
}

bool SameBits(absl::Span<const float> a, absl::Span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace attune::testing
