#include "engine/tensor/half.h"

#include <bit>
#include <cmath>

namespace attune {

float F16ToF32(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    // Zero or subnormal: mantissa * 2^-24, exact in f32.
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  // 31 is infinity or NaN in binary16, 255 in f32; otherwise rebias from 15 to 127.
  const uint32_t wide = exponent == 31 ? 255u : exponent + (127u - 15u);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

float Bf16ToF32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t F32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  constexpr uint32_t kInfinity = 0x7f800000u;
  constexpr uint32_t kLeastNormal = (127u - 14u) << 23;  // 2^-14
  constexpr uint32_t kOverflow = 0x477ff000u;            // 65,520: halfway past the largest
  if (magnitude > kInfinity) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= kOverflow) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < kLeastNormal) {
    // Subnormals are multiples of 2^-24. At 0.5 a step of f32 is 2^-24: the addition rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t lowest_kept_bit = (magnitude >> 13) & 1u;
  const uint32_t rounded = magnitude + 0xfffu + lowest_kept_bit;
  // Rebias from 127 to 15.
  return static_cast<uint16_t>(sign | ((rounded - ((127u - 15u) << 23)) >> 13));
}

uint16_t F32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  const uint32_t lowest_kept_bit = (bits >> 16) & 1u;
  return static_cast<uint16_t>((bits + 0x7fffu + lowest_kept_bit) >> 16);
}

}  // namespace attune
