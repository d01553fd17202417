// Products of f32, and of bf16 widened to f32. Compiled with -mavx512f -mavx512dq.
#include <immintrin.h>

#include "engine/ops/kernels/gemm.h"
#include "engine/ops/kernels/gemm_gelu-inl.h"
#include "engine/ops/kernels/gemm_tile-inl.h"
#include "engine/ops/kernels/gemm_writers-inl.h"

namespace attune::internal {
namespace {

struct F32Dot : FloatSums {
  static Sums Step(Sums sums, __m512i src, __m512i weights) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(src), _mm512_castsi512_ps(weights), sums);
  }
};

// Rounds to nearest even without the instruction for it.
struct RoundToBf16 {
  static void Write(__m512 results, std::byte* dst, int col) {
    const __m512i bits = _mm512_castps_si512(results);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF));
    // Rounding could carry a NaN into zero: a NaN becomes the quiet one.
    const __mmask16 is_number = _mm512_cmp_ps_mask(results, results, _CMP_ORD_Q);
    const __m512i rounded =
        _mm512_mask_add_epi32(_mm512_set1_epi32(0x7FC00000), is_number, bits, half);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 2 * col),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
};

inline void StoreWords(__m512i words, float* dst) {
  _mm512_storeu_ps(dst, _mm512_castsi512_ps(words));
}

}  // namespace

constinit const GemmKernel kGemmF32 = {
    .name = "native:avx512",
    .store = ComputePanel<F32Dot, StoreF32>,
    .add = ComputePanel<F32Dot, AddF32>,
    .gelu = ComputePanel<F32Dot, Apply<AccurateGelu, StoreF32>>,
};

constinit const GemmKernel kGemmWidenedBf16 = {
    .name = "native:avx512_widened_bf16",
    .store = ComputePanel<F32Dot, StoreF32>,
    .add = ComputePanel<F32Dot, AddF32>,
    .gelu = ComputePanel<F32Dot, Apply<FastGelu, RoundToBf16>>,
};

void WidenBf16Row(const uint16_t* src, int64_t n, float* dst) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i));
    StoreWords(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16), dst + i);
  }
  for (; i < n; ++i) {
    const uint32_t word = static_cast<uint32_t>(src[i]) << 16;
    std::memcpy(dst + i, &word, sizeof(word));
  }
}

void WidenBf16Panel(const std::byte* src, int64_t words, float* dst) {
  const __m512i upper_half = _mm512_set1_epi32(static_cast<int32_t>(0xFFFF0000));
  for (int64_t word = 0; word < words; ++word) {
    for (int j = 0; j < kPanelVectors; ++j) {
      const __m512i pairs = _mm512_load_si512(src + j * kLanes * kWordBytes);
      StoreWords(_mm512_slli_epi32(pairs, 16), dst + j * kLanes);
      StoreWords(_mm512_and_si512(pairs, upper_half), dst + kPanelCols + j * kLanes);
    }
    src += kPanelCols * kWordBytes;
    dst += 2 * kPanelCols;
  }
}

}  // namespace attune::internal
