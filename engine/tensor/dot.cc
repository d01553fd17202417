#include "engine/tensor/dot.h"

#include <array>
#include <cstddef>

namespace attune {

double Dot(absl::Span<const float> a, absl::Span<const float> b) {
  constexpr size_t kLanes = 8;
  std::array<double, kLanes> sums = {};
  size_t k = 0;
  for (; k + kLanes <= a.size(); k += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += double{a[k + lane]} * double{b[k + lane]};
    }
  }
  double sum = 0;
  for (; k < a.size(); ++k) sum += double{a[k]} * double{b[k]};
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace attune
