// Reading the golden files that generate.py wrote, and comparing with them.
#ifndef ATTUNE_TESTS_GOLDEN_GOLDEN_FILE_H_
#define ATTUNE_TESTS_GOLDEN_GOLDEN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "engine/base/json.h"

namespace attune::testing {

// The golden file `name` of this folder. Ends the process with a message if it cannot be read: a
// golden test without its golden file has nothing to say.
Json ReadGoldenFile(const std::string& name);

// Floats that generate.py wrote: little-endian f32 in base64.
std::vector<float> FloatsOf(const Json& base64);

std::vector<int32_t> IdsOf(const Json& list);
std::vector<int64_t> NumbersOf(const Json& list);

// Where two lists of equal length differ most.
struct Difference {
  double max_abs = 0;
  size_t index = 0;
  float expected = 0;
  float actual = 0;
};
// Lists of different lengths, or a NaN in either, differ by infinity.
Difference Compare(absl::Span<const float> expected, absl::Span<const float> actual);
std::ostream& operator<<(std::ostream& out, const Difference& difference);

// The cosine of the angle between two vectors, summed in double.
double Cosine(absl::Span<const float> a, absl::Span<const float> b);

// Equal bit for bit: unlike ==, tells -0 from 0 and finds a NaN equal to itself.
bool SameBits(absl::Span<const float> a, absl::Span<const float> b);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_GOLDEN_GOLDEN_FILE_H_
