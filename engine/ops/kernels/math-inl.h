// Vector building blocks. Compiled once per target: the guard toggles.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_MATH_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_MATH_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_MATH_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;
constexpr FloatTag kFloatTag;
constexpr size_t kLanes = hn::MaxLanes(kFloatTag);

HWY_INLINE FloatVec Splat(float value) { return hn::Set(kFloatTag, value); }

// max(x, low) and min(x, high), where a NaN in x stays: it must reach the check at the end of a
// pass. The operand order decides on x86; the portable target would drop it.
HWY_INLINE FloatVec AtLeast(FloatVec x, float low) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(Splat(low), x);
#else
  return hn::IfThenElse(hn::Lt(x, Splat(low)), Splat(low), x);
#endif
}
HWY_INLINE FloatVec AtMost(FloatVec x, float high) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Min(Splat(high), x);
#else
  return hn::IfThenElse(hn::Gt(x, Splat(high)), Splat(high), x);
#endif
}

// 2^t with relative error 2e-7. REQUIRES: -126 <= t <= 127; NaN gives NaN.
HWY_INLINE FloatVec Exp2(FloatVec t) {
  const hn::Rebind<int32_t, FloatTag> int_tag;
  // Adding 1.5 * 2^23 leaves round(t) in the low mantissa bits, here with the exponent bias added;
  // shifted into the exponent field that is the power of two.
  const FloatVec magic = Splat(12582912.0f + 127.0f);
  const FloatVec shifted = hn::Add(t, magic);
  const FloatVec fraction = hn::Sub(t, hn::Sub(shifted, magic));  // in [-0.5, 0.5]
  const FloatVec power = hn::BitCast(kFloatTag, hn::ShiftLeft<23>(hn::BitCast(int_tag, shifted)));
  // Minimax polynomial of 2^x on [-0.5, 0.5], relative error 9.2e-8, exactly 1 at 0.
  FloatVec p = Splat(0.0013264721f);
  p = hn::MulAdd(p, fraction, Splat(0.009671513f));
  p = hn::MulAdd(p, fraction, Splat(0.055507336f));
  p = hn::MulAdd(p, fraction, Splat(0.24022242f));
  p = hn::MulAdd(p, fraction, Splat(0.693147f));
  p = hn::MulAdd(p, fraction, Splat(1.0f));
  return hn::Mul(p, power);
}

// values[i] = function(values[i]). The tail goes through the same vector code as the body, so an
// element's bits do not depend on where it lies.
template <typename Function>
HWY_INLINE void MapInPlace(float* HWY_RESTRICT values, size_t n, Function function) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(function(hn::LoadU(kFloatTag, values + i)), kFloatTag, values + i);
  }
  if (i < n) {
    const auto mask = hn::FirstN(kFloatTag, n - i);
    const FloatVec result = function(hn::MaskedLoad(mask, kFloatTag, values + i));
    hn::BlendedStore(result, mask, kFloatTag, values + i);
  }
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
