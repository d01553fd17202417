// Private to engine/ops: the matrix products of linear layers on packed weights, in AVX-512.
//
// The files behind this one are compiled with -m flags of their own. So they, and this header, may
// include nothing with an inline function in it: the linker might keep the copy that an older CPU
// cannot run.
#ifndef ATTUNE_ENGINE_OPS_KERNELS_GEMM_H_
#define ATTUNE_ENGINE_OPS_KERNELS_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "engine/ops/row_range.h"

namespace attune::internal {

// Outputs that are computed together: a divisor of 384, 768 and their multiples.
inline constexpr int64_t kPanelCols = 48;

// The dimension that is summed over is counted in words: one f32, two bf16 or four 8-bit values.
inline constexpr int64_t kWordBytes = 4;

// Some rows of src times one panel of weights.
struct GemmPanel {
  const std::byte* src;        // [rows][words]
  int64_t src_stride;          // bytes from a row to the next
  const RowRange* src_ranges;  // [rows], for 8-bit values only
  const std::byte* weights;    // [words][kPanelCols], 64-byte aligned
  const float* bias;           // [kPanelCols]
  // For 8-bit values only: scales, and the sum of a column's weights.
  const float* weight_scales;  // [kPanelCols]
  const float* column_sums;    // [kPanelCols]
  std::byte* dst;              // [rows][kPanelCols]
  int64_t dst_stride;          // bytes
  int64_t rows;
  int64_t words;
  // What is read after this panel, brought to the L2 cache meanwhile; null and 0 for nothing.
  const std::byte* ahead;
  int64_t ahead_bytes;
};

// The products of one pair of types. They sum in one order, whatever the number of rows: a row of
// dst depends on its own row of src alone, bit for bit. A NaN reaches every result of its row.
struct GemmKernel {
  const char* name;
  void (*store)(const GemmPanel& panel);  // dst = src W^T + b, f32
  void (*add)(const GemmPanel& panel);    // dst += src W^T + b, f32
  void (*gelu)(const GemmPanel& panel);   // dst = gelu(src W^T + b), see below
};

// f32 times f32. gelu gives f32, the bits of ApplyActivation. Needs avx512_core, as oneDNN names
// it.
extern const GemmKernel kGemmF32;
// The same for values widened from bf16. gelu gives bf16 and is off by 2e-4 at most before
// rounding.
extern const GemmKernel kGemmWidenedBf16;
// bf16 times bf16; gelu as above. Needs avx512_core_bf16.
extern const GemmKernel kGemmBf16;
// u8 times s8, u standing for what its row's range says. gelu gives f32, off by 2e-4 at most. Needs
// avx512_core_vnni.
extern const GemmKernel kGemmU8;

// For kGemmWidenedBf16; need avx512_core.
// dst[n] = src[n].
void WidenBf16Row(const uint16_t* src, int64_t n, float* dst);
// dst[2 * words][kPanelCols] = src[words][kPanelCols][2]. REQUIRES: both 64-byte aligned.
void WidenBf16Panel(const std::byte* src, int64_t words, float* dst);

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_KERNELS_GEMM_H_
