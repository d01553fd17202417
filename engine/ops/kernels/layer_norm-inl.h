// Layer normalisation of one row. Compiled once per target: the guard toggles.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_LAYER_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_LAYER_NORM_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_LAYER_NORM_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_LAYER_NORM_INL_H_
#endif

#include <cmath>
#include <cstddef>

#include "engine/ops/kernels/kernels.h"
#include "engine/ops/kernels/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

// Calls body(i, mask) for each vector of a row; all lanes of the mask are set but in the tail.
template <typename Body>
HWY_INLINE void ForEachVector(size_t n, Body body) {
  const auto all = hn::FirstN(kFloatTag, kLanes);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, all);
  if (i < n) body(i, hn::FirstN(kFloatTag, n - i));
}

HWY_INLINE float Sum(FloatVec v) { return hn::GetLane(hn::SumOfLanes(kFloatTag, v)); }

void LayerNorm(const LayerNormArgs& args, float* HWY_RESTRICT row) {
  const auto count = static_cast<float>(args.hidden);

  FloatVec sum = hn::Zero(kFloatTag);
  ForEachVector(args.hidden, [&](size_t i, auto mask) HWY_ATTR {
    sum = hn::Add(sum, hn::MaskedLoad(mask, kFloatTag, row + i));
  });
  const float rough_mean = Sum(sum) / count;

  // The rough mean carries the rounding of a long sum. The sum of the deviations corrects it, so
  // that a constant row becomes exactly zero rather than amplified rounding noise.
  FloatVec deviations = hn::Zero(kFloatTag);
  FloatVec squares = hn::Zero(kFloatTag);
  ForEachVector(args.hidden, [&](size_t i, auto mask) HWY_ATTR {
    const FloatVec x = hn::MaskedLoad(mask, kFloatTag, row + i);
    const FloatVec deviation = hn::IfThenElseZero(mask, hn::Sub(x, Splat(rough_mean)));
    deviations = hn::Add(deviations, deviation);
    squares = hn::MulAdd(deviation, deviation, squares);
  });
  const float correction = Sum(deviations) / count;
  const float variance = std::fmax(Sum(squares) / count - correction * correction, 0.0f);
  const float inverse_std = 1.0f / std::sqrt(variance + args.epsilon);

  ForEachVector(args.hidden, [&](size_t i, auto mask) HWY_ATTR {
    const FloatVec x = hn::MaskedLoad(mask, kFloatTag, row + i);
    const FloatVec centred = hn::Sub(hn::Sub(x, Splat(rough_mean)), Splat(correction));
    const FloatVec unit = hn::Mul(centred, Splat(inverse_std));
    const FloatVec y = hn::MulAdd(unit, hn::MaskedLoad(mask, kFloatTag, args.gamma + i),
                                  hn::MaskedLoad(mask, kFloatTag, args.beta + i));
    hn::BlendedStore(y, mask, kFloatTag, row + i);
  });
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
