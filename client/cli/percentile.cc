#include "client/cli/percentile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace attune::cli {

double Percentile(absl::Span<const double> sorted, double percent) {
  if (sorted.empty()) return 0;
  // 99.9 % of 1000 is 999.0000000000001 in floating point; the rank must stay 999.
  constexpr double kRoundingSlack = 1e-9;
  const double rank =
      std::ceil(percent / 100 * static_cast<double>(sorted.size()) - kRoundingSlack);
  const double last = static_cast<double>(sorted.size());
  return sorted[static_cast<size_t>(std::clamp(rank, 1.0, last)) - 1];
}

}  // namespace attune::cli
