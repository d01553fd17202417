// The matrix product inside attention: a tile of results in registers, its operands packed or
// broadcast. Compiled once per target: the guard toggles.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_TILES_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_TILES_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/ops/kernels/math-inl.h"
#include "engine/ops/kernels/softmax-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

// A tile's accumulators, rows times vectors, plus its vectors and a broadcast value must fit the
// registers, 32 or 16.
constexpr int64_t kTileRows = kLanes >= 16 ? 8 : 4;
constexpr int64_t kTileVecs = kLanes >= 16 ? 3 : 2;

template <int64_t kRows, int64_t kVecs>
using TileSums = FloatVec[static_cast<size_t>(kRows)][static_cast<size_t>(kVecs)];

// A row of vectors per step of a product's depth.
struct VectorOperand {
  const float* data;  // vector v of step k is at data + k * step_stride + v * vec_stride
  int64_t step_stride;
  int64_t vec_stride;

  HWY_INLINE VectorOperand FromVec(int64_t v) const {
    return {data + v * vec_stride, step_stride, vec_stride};
  }
};

// sums[r][v] = sum over k < depth of rows[r][k] * vectors(k, v), in the order of k.
template <int64_t kRows, int64_t kVecs>
HWY_INLINE void MultiplyTile(const float* const* rows, const VectorOperand& vectors, int64_t depth,
                             TileSums<kRows, kVecs>& sums) {
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t v = 0; v < kVecs; ++v) sums[r][v] = hn::Zero(kFloatTag);
  }
  for (int64_t k = 0; k < depth; ++k) {
    FloatVec operand[static_cast<size_t>(kVecs)];
    for (int64_t v = 0; v < kVecs; ++v) {
      operand[v] =
          hn::LoadU(kFloatTag, vectors.data + k * vectors.step_stride + v * vectors.vec_stride);
    }
    for (int64_t r = 0; r < kRows; ++r) {
      const FloatVec factor = Splat(rows[r][k]);
      for (int64_t v = 0; v < kVecs; ++v) sums[r][v] = hn::MulAdd(operand[v], factor, sums[r][v]);
    }
  }
}

// Calls body(first, count) for runs that make up vectors [0, vecs): as few as kTileVecs allows, of
// about equal width. The count is an std::integral_constant.
template <typename Body>
HWY_INLINE void ForEachRunOfVecs(int64_t vecs, Body body) {
  for (int64_t first = 0; first < vecs;) {
    const int64_t left = vecs - first;
    const int64_t width = left == kTileVecs + 1 ? left / 2 : std::min(left, kTileVecs);
    if (width >= 3) {
      body(first, std::integral_constant<int64_t, kTileVecs>());
    } else if (width == 2) {
      body(first, std::integral_constant<int64_t, 2>());
    } else {
      body(first, std::integral_constant<int64_t, 1>());
    }
    first += width;
  }
}

#if HWY_TARGET != HWY_SCALAR
constexpr int64_t kBlockLanes = 4;

// Block b of the result: the four values at src + b * 4 * stride.
HWY_INLINE FloatVec LoadBlocks(const float* const* rows, int64_t offset) {
  constexpr int64_t kBlocks = kVecLanes / kBlockLanes;
  FloatVec blocks = hn::LoadDup128(kFloatTag, rows[(kBlocks - 1) * kBlockLanes] + offset);
  for (int64_t b = kBlocks - 2; b >= 0; --b) {
    const auto lower = hn::FirstN(kFloatTag, static_cast<size_t>((b + 1) * kBlockLanes));
    blocks =
        hn::IfThenElse(lower, hn::LoadDup128(kFloatTag, rows[b * kBlockLanes] + offset), blocks);
  }
  return blocks;
}

// dst[c][r] = scale * rows[r][offset + c] for kLanes rows and four columns.
HWY_INLINE void TransposeFourColumns(const float* const* rows, int64_t offset, float scale,
                                     float* HWY_RESTRICT dst) {
  const hn::Repartition<double, FloatTag> pair_tag;
  const FloatVec rows0 = LoadBlocks(rows, offset);
  const FloatVec rows1 = LoadBlocks(rows + 1, offset);
  const FloatVec rows2 = LoadBlocks(rows + 2, offset);
  const FloatVec rows3 = LoadBlocks(rows + 3, offset);
  const auto lower01 = hn::BitCast(pair_tag, hn::InterleaveLower(kFloatTag, rows0, rows1));
  const auto upper01 = hn::BitCast(pair_tag, hn::InterleaveUpper(kFloatTag, rows0, rows1));
  const auto lower23 = hn::BitCast(pair_tag, hn::InterleaveLower(kFloatTag, rows2, rows3));
  const auto upper23 = hn::BitCast(pair_tag, hn::InterleaveUpper(kFloatTag, rows2, rows3));
  const auto store_column = [&](int64_t c, auto column) HWY_ATTR {
    hn::Store(hn::Mul(hn::BitCast(kFloatTag, column), Splat(scale)), kFloatTag,
              dst + c * kVecLanes);
  };
  store_column(0, hn::InterleaveLower(pair_tag, lower01, lower23));
  store_column(1, hn::InterleaveUpper(pair_tag, lower01, lower23));
  store_column(2, hn::InterleaveLower(pair_tag, upper01, upper23));
  store_column(3, hn::InterleaveUpper(pair_tag, upper01, upper23));
}
#endif

// dst[c][r] = scale * rows[r][c] for kLanes rows.
HWY_INLINE void TransposeRows(const float* const* rows, int64_t cols, float scale,
                              float* HWY_RESTRICT dst) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; c + kBlockLanes <= cols; c += kBlockLanes) {
    TransposeFourColumns(rows, c, scale, dst + c * kVecLanes);
  }
#endif
  for (; c < cols; ++c) {
    for (int64_t r = 0; r < kVecLanes; ++r) dst[c * kVecLanes + r] = scale * rows[r][c];
  }
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
