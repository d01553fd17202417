// Products of bf16 with VDPBF16PS. Compiled with -mavx512f -mavx512dq -mavx512bf16.
#include <immintrin.h>

#include "engine/ops/kernels/gemm.h"
#include "engine/ops/kernels/gemm_gelu-inl.h"
#include "engine/ops/kernels/gemm_tile-inl.h"
#include "engine/ops/kernels/gemm_writers-inl.h"

namespace attune::internal {
namespace {

struct Bf16Dot : FloatSums {
  static Sums Step(Sums sums, __m512i src, __m512i weights) {
    return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(src),
                            reinterpret_cast<__m512bh>(weights));
  }
};

struct RoundToBf16 {
  static void Write(__m512 results, std::byte* dst, int col) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 2 * col),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(results)));
  }
};

}  // namespace

constinit const GemmKernel kGemmBf16 = {
    .name = "native:avx512_bf16",
    .store = ComputePanel<Bf16Dot, StoreF32>,
    .add = ComputePanel<Bf16Dot, AddF32>,
    .gelu = ComputePanel<Bf16Dot, Apply<FastGelu, RoundToBf16>>,
};

}  // namespace attune::internal
