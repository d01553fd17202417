// The loops that all matrix products share. Only for the gemm_*.cc files, each of which compiles a
// copy with its own -m flags: hence the unnamed namespace.
//
// A Dot is the arithmetic of a pair of types:
//   using Sums                         16 sums in a register
//   Sums Start(panel, col)             what the sums of columns [col, col + 16) start from
//   Sums Step(sums, src, weights)      adds the products of 16 words with 16 words
//   __m512 Finish(panel, row, col, sums)  the results that the sums stand for
// A Writer puts 16 results where they belong:
//   void Write(__m512 results, std::byte* dst, int col)
#ifndef ATTUNE_ENGINE_OPS_KERNELS_GEMM_TILE_INL_H_
#define ATTUNE_ENGINE_OPS_KERNELS_GEMM_TILE_INL_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/ops/kernels/gemm.h"

namespace attune::internal {
namespace {

constexpr int kLanes = 16;
constexpr int kPanelVectors = static_cast<int>(kPanelCols) / kLanes;
// 8 x 3 sums, 3 vectors of weights and one of src take 28 of the 32 registers.
constexpr int kTileRows = 8;

// The part of a Dot that sums in f32: the sums start from the bias and are the results.
struct FloatSums {
  using Sums = __m512;
  static Sums Start(const GemmPanel& panel, int col) { return _mm512_loadu_ps(panel.bias + col); }
  static __m512 Finish(const GemmPanel& /*panel*/, int64_t /*row*/, int /*col*/, Sums sums) {
    return sums;
  }
};

inline __m512i BroadcastWord(const std::byte* src) {
  int32_t word;
  std::memcpy(&word, src, sizeof(word));
  return _mm512_set1_epi32(word);
}

// Rows [first_row, first_row + kRows) of the panel. The sums stay in registers from the first
// product to the last.
template <typename Dot, typename Writer, int kRows>
void ComputeTile(const GemmPanel& panel, int64_t first_row) {
  typename Dot::Sums sums[static_cast<size_t>(kRows)][kPanelVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPanelVectors; ++j) sums[i][j] = Dot::Start(panel, j * kLanes);
  }

  const int64_t src_stride = panel.src_stride;
  const std::byte* src = panel.src + first_row * src_stride;
  const std::byte* weights = panel.weights;
  // Each tile fetches its share of what comes next. A line may be asked for several times, which
  // costs less than to count.
  const std::byte* ahead = panel.ahead + panel.ahead_bytes * first_row / panel.rows;
  const int64_t ahead_step = panel.ahead_bytes * kRows / (panel.rows * panel.words);
  // Unrolled, g++ 12 spills the sums of VPDPBUSD to the stack at every turn.
#pragma GCC unroll 1
  for (int64_t word = 0; word < panel.words; ++word) {
    __m512i columns[kPanelVectors];
#pragma GCC unroll 3
    for (int j = 0; j < kPanelVectors; ++j) {
      columns[j] = _mm512_load_si512(weights + j * kLanes * kWordBytes);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const __m512i value = BroadcastWord(src + i * src_stride);
#pragma GCC unroll 3
      for (int j = 0; j < kPanelVectors; ++j) {
        sums[i][j] = Dot::Step(sums[i][j], value, columns[j]);
      }
    }
    _mm_prefetch(ahead, _MM_HINT_T1);
    src += kWordBytes;
    weights += kPanelCols * kWordBytes;
    ahead += ahead_step;
  }

  std::byte* dst = panel.dst + first_row * panel.dst_stride;
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPanelVectors; ++j) {
      const int col = j * kLanes;
      Writer::Write(Dot::Finish(panel, first_row + i, col, sums[i][j]), dst, col);
    }
    dst += panel.dst_stride;
  }
}

// Deals the rows to tiles of nearly equal height: a tile of one or two rows has too few sums to
// hide the latency of adding to them.
template <typename Dot, typename Writer>
void ComputePanel(const GemmPanel& panel) {
  static constexpr void (*kOfHeight[])(const GemmPanel&, int64_t) = {
      ComputeTile<Dot, Writer, 1>, ComputeTile<Dot, Writer, 2>, ComputeTile<Dot, Writer, 3>,
      ComputeTile<Dot, Writer, 4>, ComputeTile<Dot, Writer, 5>, ComputeTile<Dot, Writer, 6>,
      ComputeTile<Dot, Writer, 7>, ComputeTile<Dot, Writer, 8>};
  static_assert(sizeof(kOfHeight) / sizeof(kOfHeight[0]) == kTileRows);
  int64_t row = 0;
  for (int64_t tiles = (panel.rows + kTileRows - 1) / kTileRows; tiles > 0; --tiles) {
    const int64_t height = (panel.rows - row) / tiles;
    kOfHeight[height - 1](panel, row);
    row += height;
  }
}

}  // namespace
}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_KERNELS_GEMM_TILE_INL_H_
