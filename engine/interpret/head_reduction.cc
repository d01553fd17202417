#include "engine/interpret/head_reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/base/check.h"

namespace attune {
namespace {

template <typename Combine>
void Fold(absl::Span<const ConstMatrixView> maps, MatrixView dst, Combine combine) {
  for (const ConstMatrixView& map : maps) {
    for (int64_t i = 0; i < dst.rows; ++i) {
      const absl::Span<float> row = dst.row(i);
      std::transform(row.begin(), row.end(), map.row(i).begin(), row.begin(), combine);
    }
  }
}

}  // namespace

Matrix ReduceHeads(MapReduction reduction, absl::Span<const ConstMatrixView> maps) {
  ATTUNE_CHECK(reduction != MapReduction::kNone && !maps.empty());
  Matrix result(maps[0].rows, maps[0].cols);
  for (int64_t i = 0; i < result.rows(); ++i) {
    std::copy(maps[0].row(i).begin(), maps[0].row(i).end(), result.row(i).begin());
  }
  const absl::Span<const ConstMatrixView> others = maps.subspan(1);
  switch (reduction) {
    case MapReduction::kMax:
      Fold(others, result.view(), [](float a, float b) { return std::max(a, b); });
      break;
    case MapReduction::kL2:
      for (float& value : result.span()) value *= value;
      Fold(others, result.view(), [](float sum, float b) { return sum + b * b; });
      for (float& value : result.span()) value = std::sqrt(value);
      break;
    case MapReduction::kSum:
    case MapReduction::kMean:
    case MapReduction::kNone:
      Fold(others, result.view(), [](float a, float b) { return a + b; });
      break;
  }
  if (reduction == MapReduction::kMean) {
    const auto count = static_cast<float>(maps.size());
    for (float& value : result.span()) value /= count;
  }
  return result;
}

}  // namespace attune
