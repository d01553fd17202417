#include "engine/tensor/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace attune {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(HalfTest, C47Bf16WidensExactly) {
  EXPECT_EQ(Bf16ToF32(0x3F80), 1.0f);
  EXPECT_EQ(Bf16ToF32(0xC000), -2.0f);
  EXPECT_EQ(Bf16ToF32(0x3EAB), 0.333984375f);
  EXPECT_EQ(Bf16ToF32(0x4049), 3.140625f);
  EXPECT_EQ(Bf16ToF32(0x0001), std::ldexp(1.0f, -133));  // 9.1835e-41, a subnormal
  EXPECT_EQ(Bits(Bf16ToF32(0x8000)), 0x80000000u);
}

TEST(HalfTest, C47F16WidensExactly) {
  EXPECT_EQ(F16ToF32(0x3C00), 1.0f);
  EXPECT_EQ(F16ToF32(0xC000), -2.0f);
  EXPECT_EQ(F16ToF32(0x3555), 0.333251953125f);
  EXPECT_EQ(F16ToF32(0x7BFF), 65504.0f);
  EXPECT_EQ(F16ToF32(0x0001), std::ldexp(1.0f, -24));  // 5.9604645e-08, a subnormal
  EXPECT_EQ(Bits(F16ToF32(0x8000)), 0x80000000u);
  EXPECT_EQ(F16ToF32(0x7C00), kInfinity);
}

// Every one of the 65,536 values against the definition of binary16.
TEST(HalfTest, F16EqualsItsDefinitionForEveryBitPattern) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = F16ToF32(static_cast<uint16_t>(bits));
    const int exponent = (bits >> 10) & 31;
    const double mantissa = bits & 1023;
    EXPECT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), mantissa != 0) << bits;
      EXPECT_EQ(std::isinf(value), mantissa == 0) << bits;
      continue;
    }
    const double magnitude = exponent == 0 ? mantissa * std::pow(2.0, -24)
                                           : (1 + mantissa / 1024) * std::pow(2.0, exponent - 15);
    EXPECT_EQ(std::fabs(value), magnitude) << bits;
  }
}

TEST(HalfTest, C47F32RoundsToTheNearestBf16TiesToEven) {
  EXPECT_EQ(F32ToBf16(1.0f / 3), 0x3EAB);
  EXPECT_EQ(F32ToBf16(1.00390625f), 0x3F80);  // halfway, down to even
  EXPECT_EQ(F32ToBf16(1.01171875f), 0x3F82);  // halfway, up to even
  EXPECT_EQ(F32ToBf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(F32ToBf16(-kInfinity), 0xFF80);
}

TEST(HalfTest, F16SurvivesTheRoundTripAndNanStaysNan) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = F16ToF32(static_cast<uint16_t>(bits));
    const uint16_t back = F32ToF16(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(F16ToF32(back))) << bits;
    } else {
      EXPECT_EQ(back, bits);
    }
  }
  EXPECT_TRUE(std::isnan(F16ToF32(F32ToF16(std::bit_cast<float>(0x7F800001u)))));
}

TEST(HalfTest, F32RoundsToTheNearestF16TiesToEven) {
  // Between each two neighbours: just below the middle goes down, just above up, the middle to the
  // even one.
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = F16ToF32(static_cast<uint16_t>(bits));
    const float high = F16ToF32(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;  // exact
    const uint32_t even = bits + bits % 2;
    ASSERT_EQ(F32ToF16(middle), even) << bits;
    ASSERT_EQ(F32ToF16(std::nextafter(middle, low)), bits);
    ASSERT_EQ(F32ToF16(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(F32ToF16(-middle), even | 0x8000u) << bits;
  }
  EXPECT_EQ(F32ToF16(65519.996f), 0x7BFF);
  EXPECT_EQ(F32ToF16(65520.0f), 0x7C00);
  EXPECT_EQ(F32ToF16(-kInfinity), 0xFC00);
}

TEST(HalfTest, Bf16SurvivesTheRoundTripAndNanStaysNan) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Bf16ToF32(static_cast<uint16_t>(bits));
    const uint16_t back = F32ToBf16(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(Bf16ToF32(back))) << bits;
    } else {
      EXPECT_EQ(back, bits);
    }
  }
  // Its low bits alone make this a NaN; dropping them must not turn it into an infinity.
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(std::bit_cast<float>(0x7F800001u)))));
}

}  // namespace
}  // namespace attune
