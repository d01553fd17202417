// Products of u8 and s8 with VPDPBUSD. Compiled with -mavx512f -mavx512dq -mavx512vnni.
#include <immintrin.h>

#include "engine/ops/kernels/gemm.h"
#include "engine/ops/kernels/gemm_gelu-inl.h"
#include "engine/ops/kernels/gemm_tile-inl.h"
#include "engine/ops/kernels/gemm_writers-inl.h"

namespace attune::internal {
namespace {

struct U8Dot {
  using Sums = __m512i;
  static Sums Start(const GemmPanel& /*panel*/, int /*col*/) { return _mm512_setzero_si512(); }
  // The instruction by name: around its intrinsic g++ 12 spills the sums, which halves the speed.
  static Sums Step(Sums sums, __m512i src, __m512i weights) {
    asm("vpdpbusd %[weights], %[src], %[sums]"
        : [sums] "+v"(sums)
        : [src] "v"(src), [weights] "v"(weights));
    return sums;
  }
  static __m512 Finish(const GemmPanel& panel, int64_t row, int col, Sums sums) {
    const RowRange& range = panel.src_ranges[row];
    const __m512 scaled =
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(panel.weight_scales + col));
    // A row's least value counts once for each weight.
    const __m512 shift =
        _mm512_fmadd_ps(_mm512_set1_ps(range.low), _mm512_loadu_ps(panel.column_sums + col),
                        _mm512_loadu_ps(panel.bias + col));
    return _mm512_fmadd_ps(scaled, _mm512_set1_ps(range.step), shift);
  }
};

}  // namespace

constinit const GemmKernel kGemmU8 = {
    .name = "native:avx512_vnni",
    .store = ComputePanel<U8Dot, StoreF32>,
    .add = ComputePanel<U8Dot, AddF32>,
    .gelu = ComputePanel<U8Dot, Apply<FastGelu, StoreF32>>,
};

}  // namespace attune::internal
