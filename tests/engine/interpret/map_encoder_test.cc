#include "engine/interpret/map_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/tensor/half.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::IsOk;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

template <typename Value>
std::vector<Value> ValuesOf(const std::string& bytes) {
  std::vector<Value> values(bytes.size() / sizeof(Value));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

MapBytes Encode(MapEncoding encoding, std::optional<MapSparsity> sparsity, const Matrix& map,
                const std::vector<float>& kept_mass = {}) {
  MapEncoder encoder(encoding, sparsity);
  EXPECT_THAT(encoder.Append(map.view(), kept_mass), IsOk());
  return encoder.Take();
}

// Rows of non-negative values of quite different sizes.
Matrix Map(int64_t rows, int64_t columns) {
  Matrix map = RandomMatrix(rows, columns, 3);
  for (int64_t i = 0; i < rows; ++i) {
    for (float& value : map.row(i)) value = std::pow(std::abs(value), static_cast<float>(i + 1));
  }
  return map;
}

TEST(MapEncoderTest, F32KeepsEveryBit) {
  const Matrix map = Map(5, 7);
  const MapBytes bytes = Encode(MapEncoding::kF32, {}, map);
  EXPECT_EQ(ValuesOf<float>(bytes.data), Flat(map));
  EXPECT_THAT(bytes.row_scales, IsEmpty());
  EXPECT_THAT(bytes.columns, IsEmpty());
  EXPECT_THAT(bytes.kept_mass, IsEmpty());
}

TEST(MapEncoderTest, F16IsWithinHalfAStep) {
  const Matrix map = Map(6, 50);
  const std::vector<uint16_t> halves = ValuesOf<uint16_t>(Encode(MapEncoding::kF16, {}, map).data);
  const std::vector<float> exact = Flat(map);
  ASSERT_EQ(halves.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    // Half a step of 11 bits, or of the subnormals' 2^-24.
    const float bound = std::max(exact[i] * std::ldexp(1.0f, -11), std::ldexp(1.0f, -25));
    EXPECT_NEAR(F16ToF32(halves[i]), exact[i], bound);
  }
}

TEST(MapEncoderTest, F16RefusesWhatItCannotHold) {
  MapEncoder encoder(MapEncoding::kF16, {});
  EXPECT_THAT(encoder.Append(MatrixOf({{65519, -65519}}).view(), {}), IsOk());
  EXPECT_THAT(encoder.Append(MatrixOf({{1, 65520}}).view(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.encoding F16")));
}

TEST(MapEncoderTest, U8IsWithinTheRowsLargestOver510) {
  const Matrix map = Map(6, 50);
  const MapBytes bytes = Encode(MapEncoding::kU8, {}, map);
  const std::vector<float> scales = ValuesOf<float>(bytes.row_scales);
  const std::vector<uint8_t> steps = ValuesOf<uint8_t>(bytes.data);
  ASSERT_EQ(scales.size(), 6u);
  for (int64_t i = 0; i < 6; ++i) {
    const float largest = *std::max_element(map.row(i).begin(), map.row(i).end());
    for (size_t j = 0; j < 50; ++j) {
      const double value =
          double{scales[static_cast<size_t>(i)]} * steps[static_cast<size_t>(i) * 50 + j];
      EXPECT_NEAR(value, map.row(i)[j], largest / 510 * (1 + 1e-5)) << i << ", " << j;
    }
  }
}

TEST(MapEncoderTest, U8GivesAZeroRowAScaleOfZero) {
  const MapBytes bytes = Encode(MapEncoding::kU8, {}, MatrixOf({{0, 0}, {0, 2}}));
  EXPECT_EQ(ValuesOf<float>(bytes.row_scales)[0], 0);
  EXPECT_THAT(ValuesOf<uint8_t>(bytes.data), ElementsAre(0, 0, 0, 255));
}

TEST(MapEncoderTest, TopKTakesTheLargestAndTiesByColumn) {
  const MapBytes bytes = Encode(MapEncoding::kF32, MapSparsity{.top_k = 2},
                                MatrixOf({{.1, .3, .2, .4}, {.25, .25, .25, .25}}), {1, .5});
  EXPECT_THAT(ValuesOf<uint16_t>(bytes.row_lengths), ElementsAre(2, 2));
  EXPECT_THAT(ValuesOf<uint16_t>(bytes.columns), ElementsAre(3, 1, 0, 1));
  EXPECT_THAT(ValuesOf<float>(bytes.data), ElementsAre(.4f, .3f, .25f, .25f));
  EXPECT_THAT(ValuesOf<float>(bytes.kept_mass), Pointwise(FloatNear(1e-6f), {.7f, .25f}));
}

TEST(MapEncoderTest, MassTakesTheFewestThatReachIt) {
  const Matrix map = MatrixOf({{.1, .2, .3, .4}, {.97, .01, .01, .01}, {0, 0, 0, 0}});
  const MapBytes all = Encode(MapEncoding::kF32, MapSparsity{.mass = .65f}, map, {1, 1, 0});
  EXPECT_THAT(ValuesOf<uint16_t>(all.row_lengths), ElementsAre(2, 1, 0));
  EXPECT_THAT(ValuesOf<uint16_t>(all.columns), ElementsAre(3, 2, 0));
  EXPECT_THAT(ValuesOf<float>(all.kept_mass), Pointwise(FloatNear(1e-6f), {.7f, .97f, 0.f}));
  const MapBytes capped = Encode(MapEncoding::kF32, MapSparsity{.mass = 1, .max_k = 1}, map);
  EXPECT_THAT(ValuesOf<uint16_t>(capped.row_lengths), ElementsAre(1, 1, 0));
}

TEST(MapEncoderTest, TopKBeyondTheRowMeansAll) {
  const MapBytes bytes = Encode(MapEncoding::kF16, MapSparsity{.top_k = 9}, MatrixOf({{.5, .25}}));
  EXPECT_THAT(ValuesOf<uint16_t>(bytes.row_lengths), ElementsAre(2));
  EXPECT_EQ(bytes.data.size(), 4u);
}

TEST(MapEncoderTest, RefusesValuesThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    MapEncoder encoder(MapEncoding::kF32, {});
    EXPECT_THAT(encoder.Append(MatrixOf({{1, bad}}).view(), {}),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
  }
}

}  // namespace
}  // namespace attune
