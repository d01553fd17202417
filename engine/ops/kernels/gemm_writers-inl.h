// Where the results of a matrix product go: see gemm_tile-inl.h.
#ifndef ATTUNE_ENGINE_OPS_KERNELS_GEMM_WRITERS_INL_H_
#define ATTUNE_ENGINE_OPS_KERNELS_GEMM_WRITERS_INL_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace attune::internal {
namespace {

struct StoreF32 {
  static void Write(__m512 results, std::byte* dst, int col) {
    _mm512_storeu_ps(reinterpret_cast<float*>(dst) + col, results);
  }
};

struct AddF32 {
  static void Write(__m512 results, std::byte* dst, int col) {
    float* values = reinterpret_cast<float*>(dst) + col;
    _mm512_storeu_ps(values, _mm512_add_ps(_mm512_loadu_ps(values), results));
  }
};

template <__m512 (*kFunction)(__m512), typename Writer>
struct Apply {
  static void Write(__m512 results, std::byte* dst, int col) {
    Writer::Write(kFunction(results), dst, col);
  }
};

}  // namespace
}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_KERNELS_GEMM_WRITERS_INL_H_
