#include "engine/tensor/finite.h"

#include <algorithm>
#include <cmath>

namespace attune {

std::optional<int64_t> FindNotFinite(absl::Span<const float> values) {
  const auto found =
      std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (found == values.end()) return std::nullopt;
  return found - values.begin();
}

}  // namespace attune
