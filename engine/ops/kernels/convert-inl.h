// Rows between f32 and the types that matrix products read. Compiled once per target: the guard
// toggles.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_CONVERT_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_CONVERT_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_CONVERT_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "engine/ops/kernels/kernels.h"
#include "engine/ops/kernels/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
constexpr IntTag kIntTag;

// The upper halves of the bits, after rounding the lower ones to nearest even. Highway's own
// conversion truncates.
HWY_INLINE hn::Vec<IntTag> RoundToBf16(FloatVec x) {
  const hn::RebindToUnsigned<FloatTag> bits_tag;
  const auto bits = hn::BitCast(bits_tag, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(bits_tag, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(bits_tag, 0x7FFF)));
  // Rounding up could carry a NaN into infinity or zero: a NaN keeps its bits, made quiet.
  const auto quiet = hn::Or(bits, hn::Set(bits_tag, 0x00400000));
  const auto is_nan = hn::RebindMask(bits_tag, hn::IsNaN(x));
  return hn::BitCast(kIntTag, hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded)));
}

void PackBf16(const float* HWY_RESTRICT row, size_t n, uint16_t* HWY_RESTRICT dst) {
  const hn::Rebind<uint16_t, FloatTag> narrow_tag;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::DemoteTo(narrow_tag, RoundToBf16(hn::LoadU(kFloatTag, row + i))), narrow_tag,
               dst + i);
  }
  for (; i < n; ++i) {
    HWY_ALIGN uint16_t one[kLanes];
    hn::StoreU(hn::DemoteTo(narrow_tag, RoundToBf16(Splat(row[i]))), narrow_tag, one);
    dst[i] = one[0];
  }
}

// The least and the largest of some values, and whether all of them are finite.
struct Extent {
  FloatVec least;
  FloatVec largest;
  FloatVec not_finite;  // stays 0 while all are finite

  HWY_INLINE explicit Extent(FloatVec x) : least(x), largest(x), not_finite(hn::Zero(kFloatTag)) {}
  HWY_INLINE void Take(FloatVec x) {
    least = hn::Min(least, x);
    largest = hn::Max(largest, x);
    not_finite = hn::MulAdd(x, hn::Zero(kFloatTag), not_finite);
  }
  HWY_INLINE void Take(const Extent& other) {
    least = hn::Min(least, other.least);
    largest = hn::Max(largest, other.largest);
    not_finite = hn::Add(not_finite, other.not_finite);
  }
};

// From the least to the largest value of a row; NaN if anything in it is not finite.
HWY_INLINE RowRange RangeOf(const float* HWY_RESTRICT row, size_t n) {
  // Four at a time: one would wait for its own last result at every step.
  Extent a(Splat(row[0]));
  Extent b = a;
  Extent c = a;
  Extent d = a;
  size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a.Take(hn::LoadU(kFloatTag, row + i));
    b.Take(hn::LoadU(kFloatTag, row + i + kLanes));
    c.Take(hn::LoadU(kFloatTag, row + i + 2 * kLanes));
    d.Take(hn::LoadU(kFloatTag, row + i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) a.Take(hn::LoadU(kFloatTag, row + i));
  for (; i < n; ++i) a.Take(Splat(row[i]));
  a.Take(b);
  c.Take(d);
  a.Take(c);
  const float low = hn::GetLane(hn::MinOfLanes(kFloatTag, a.least));
  const float high = hn::GetLane(hn::MaxOfLanes(kFloatTag, a.largest));
  const float nan_or_zero = hn::GetLane(hn::SumOfLanes(kFloatTag, a.not_finite));
  return {low + nan_or_zero, (high - low) / 255.0f + nan_or_zero};
}

RowRange PackU8(const float* HWY_RESTRICT row, size_t n, uint8_t* HWY_RESTRICT dst) {
  // A narrower range is one value: its inverse would not be finite, and it is far below the
  // rounding of anything it is added to.
  constexpr float kLeastStep = 1e-30f;
  const hn::Rebind<uint8_t, FloatTag> narrow_tag;
  RowRange range = RangeOf(row, n);
  if (range.step < kLeastStep) range.step = 0;
  const FloatVec low = Splat(range.low);
  const FloatVec inverse = Splat(range.step == 0 ? 0.0f : 1.0f / range.step);
  const auto quantize = [&](FloatVec x) HWY_ATTR {
    return hn::DemoteTo(narrow_tag, hn::NearestInt(hn::Mul(hn::Sub(x, low), inverse)));
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(quantize(hn::LoadU(kFloatTag, row + i)), narrow_tag, dst + i);
  }
  for (; i < n; ++i) {
    HWY_ALIGN uint8_t one[kLanes];
    hn::StoreU(quantize(Splat(row[i])), narrow_tag, one);
    dst[i] = one[0];
  }
  return range;
}

template <bool kAdd>
HWY_INLINE void DequantizeRow(const DequantizeArgs& args, float* HWY_RESTRICT dst) {
  const FloatVec step = Splat(args.range.step);
  const FloatVec low = Splat(args.range.low);
  const auto value = [&](hn::Vec<IntTag> sum, FloatVec scale, FloatVec column_sum, FloatVec bias)
                         HWY_ATTR {
                           const FloatVec product = hn::Mul(hn::ConvertTo(kFloatTag, sum), scale);
                           return hn::MulAdd(product, step, hn::MulAdd(low, column_sum, bias));
                         };
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) {
    FloatVec y =
        value(hn::LoadU(kIntTag, args.sums + i), hn::LoadU(kFloatTag, args.scales + i),
              hn::LoadU(kFloatTag, args.column_sums + i), hn::LoadU(kFloatTag, args.bias + i));
    if (kAdd) y = hn::Add(hn::LoadU(kFloatTag, dst + i), y);
    hn::StoreU(y, kFloatTag, dst + i);
  }
  for (; i < args.n; ++i) {
    const FloatVec y = value(hn::Set(kIntTag, args.sums[i]), Splat(args.scales[i]),
                             Splat(args.column_sums[i]), Splat(args.bias[i]));
    dst[i] = kAdd ? dst[i] + hn::GetLane(y) : hn::GetLane(y);
  }
}

void Dequantize(const DequantizeArgs& args, float* dst) { DequantizeRow<false>(args, dst); }
void DequantizeAdd(const DequantizeArgs& args, float* dst) { DequantizeRow<true>(args, dst); }

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
