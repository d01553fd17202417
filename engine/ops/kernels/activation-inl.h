// Activation functions. Compiled once per target: the guard toggles.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_ACTIVATION_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_ACTIVATION_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_ACTIVATION_INL_H_
#endif

#include <cstddef>

#include "engine/ops/kernels/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

constexpr float kLog2E = 1.44269504f;

// gelu(x) = x * Phi(x) = max(x, 0) - |x| * Phi(-|x|): no cancellation, and one formula for both
// signs. log2 Phi(-a) is smooth, nearly a parabola, so a polynomial of degree 6 (fitted to minimise
// the error of a * Phi(-a), exact at 0) and an exp2 do for the erf, without a division.
HWY_INLINE FloatVec GeluOf(FloatVec x) {
  const FloatVec magnitude = hn::Abs(x);
  const FloatVec a = AtMost(magnitude, 7.0f);  // past it, a * Phi(-a) is below 1e-11
  FloatVec log2_phi = Splat(2.992438e-05f);
  log2_phi = hn::MulAdd(log2_phi, a, Splat(-0.00073987583f));
  log2_phi = hn::MulAdd(log2_phi, a, Splat(0.007977468f));
  log2_phi = hn::MulAdd(log2_phi, a, Splat(-0.053238194f));
  log2_phi = hn::MulAdd(log2_phi, a, Splat(-0.45891568f));
  log2_phi = hn::MulAdd(log2_phi, a, Splat(-1.1511471f));
  log2_phi = hn::MulAdd(log2_phi, a, Splat(-1.0f));
  return hn::NegMulAdd(magnitude, Exp2(log2_phi), AtLeast(x, 0.0f));
}

// x / (1 + exp(-z)), for any z.
HWY_INLINE FloatVec TimesSigmoid(FloatVec x, FloatVec z) {
  const FloatVec t = hn::Mul(z, Splat(-kLog2E));
  const FloatVec bounded = AtMost(AtLeast(t, -126.0f), 126.0f);
  return hn::Div(x, hn::Add(Splat(1.0f), Exp2(bounded)));
}

// 0.5 (1 + tanh u) = sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
HWY_INLINE FloatVec GeluTanhOf(FloatVec x) {
  constexpr float kTwoSqrtTwoOverPi = 1.59576912f;
  const FloatVec cubic = hn::MulAdd(hn::Mul(x, x), Splat(0.044715f), Splat(1.0f));
  return TimesSigmoid(x, hn::Mul(hn::Mul(x, Splat(kTwoSqrtTwoOverPi)), cubic));
}

void Gelu(float* values, size_t n) {
  MapInPlace(values, n, [](FloatVec x) HWY_ATTR { return GeluOf(x); });
}

void GeluTanh(float* values, size_t n) {
  MapInPlace(values, n, [](FloatVec x) HWY_ATTR { return GeluTanhOf(x); });
}

void Relu(float* values, size_t n) {
  MapInPlace(values, n, [](FloatVec x) HWY_ATTR { return AtLeast(x, 0.0f); });
}

void Silu(float* values, size_t n) {
  MapInPlace(values, n, [](FloatVec x) HWY_ATTR { return TimesSigmoid(x, x); });
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
