// gelu(x) = x * Phi(x) = max(x, 0) - |x| * Phi(-|x|) on registers: one formula for both signs, and
// no cancellation. Only for the gemm_*.cc files.
#ifndef ATTUNE_ENGINE_OPS_KERNELS_GEMM_GELU_INL_H_
#define ATTUNE_ENGINE_OPS_KERNELS_GEMM_GELU_INL_H_

#include <immintrin.h>

namespace attune::internal {
namespace {

// min(|x|, limit). A NaN becomes the limit: the term max(x, 0), in this operand order, keeps it.
inline __m512 ClampedMagnitude(__m512 x, float limit) {
  constexpr int kSmallerMagnitudeWithoutSign = 0b1010;
  return _mm512_range_ps(x, _mm512_set1_ps(limit), kSmallerMagnitudeWithoutSign);
}
inline __m512 PositivePart(__m512 x) { return _mm512_max_ps(_mm512_setzero_ps(), x); }

// p * x + c
inline __m512 Horner(__m512 p, __m512 x, float c) {
  return _mm512_fmadd_ps(p, x, _mm512_set1_ps(c));
}

// Absolute error at most 2e-4, rounding included: -a * Phi(-a) as a polynomial of degree 7 in
// a = min(|x|, 3.86), fitted to minimise the largest error (1.33e-4) and exact at 0.
inline __m512 FastGelu(__m512 x) {
  const __m512 a = ClampedMagnitude(x, 3.86f);
  __m512 p = _mm512_set1_ps(0.0007042249382f);
  p = Horner(p, a, -0.010718147617f);
  p = Horner(p, a, 0.061618000032f);
  p = Horner(p, a, -0.150156290597f);
  p = Horner(p, a, 0.055875599935f);
  p = Horner(p, a, 0.382967767011f);
  p = Horner(p, a, -0.498859603459f);
  return _mm512_fmadd_ps(p, a, PositivePart(x));
}

// The formula and the bits of GeluOf in activation-inl.h, where it is explained.
inline __m512 AccurateGelu(__m512 x) {
  const __m512 a = ClampedMagnitude(x, 7.0f);
  __m512 log2_phi = _mm512_set1_ps(2.992438e-05f);
  log2_phi = Horner(log2_phi, a, -0.00073987583f);
  log2_phi = Horner(log2_phi, a, 0.007977468f);
  log2_phi = Horner(log2_phi, a, -0.053238194f);
  log2_phi = Horner(log2_phi, a, -0.45891568f);
  log2_phi = Horner(log2_phi, a, -1.1511471f);
  log2_phi = Horner(log2_phi, a, -1.0f);

  const __m512 magic = _mm512_set1_ps(12582912.0f + 127.0f);
  const __m512 shifted = _mm512_add_ps(log2_phi, magic);
  const __m512 fraction = _mm512_sub_ps(log2_phi, _mm512_sub_ps(shifted, magic));
  const __m512 power = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted), 23));
  __m512 exp2 = _mm512_set1_ps(0.0013264721f);
  exp2 = Horner(exp2, fraction, 0.009671513f);
  exp2 = Horner(exp2, fraction, 0.055507336f);
  exp2 = Horner(exp2, fraction, 0.24022242f);
  exp2 = Horner(exp2, fraction, 0.693147f);
  exp2 = Horner(exp2, fraction, 1.0f);
  const __m512 phi = _mm512_mul_ps(exp2, power);
  const __m512 magnitude = _mm512_abs_ps(x);
  return _mm512_fnmadd_ps(magnitude, phi, PositivePart(x));
}

}  // namespace
}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_KERNELS_GEMM_GELU_INL_H_
