#include "engine/interpret/sinusoidal_position.h"

#include <cmath>
#include <cstdint>

#include "engine/interpret/attend.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

constexpr double kF64Rounding = 1e-11;  // angles below 2048, 1e-16 relative each

TEST(SinusoidalPositionTest, PairsOfColumnsShareOneAngle) {
  const int64_t dim = 6;
  for (const int64_t p : {0, 1, 2, 100, 2047}) {
    for (int64_t i = 0; 2 * i < dim; ++i) {
      const double angle = static_cast<double>(p) /
                           std::pow(10000, static_cast<double>(2 * i) / static_cast<double>(dim));
      EXPECT_NEAR(SinusoidalPosition(p, 2 * i, dim), std::sin(angle), kF64Rounding);
      EXPECT_NEAR(SinusoidalPosition(p, 2 * i + 1, dim), std::cos(angle), kF64Rounding);
    }
  }
}

// A widespread slip takes the exponent 2i/d with i over all d columns. At d = 4 the right speeds
// are 1, 1, 1/100, 1/100; the slip would give 1, 1/100, 1/10000, 1/1000000.
TEST(SinusoidalPositionTest, KnownValuesAtFourDimensions) {
  EXPECT_NEAR(SinusoidalPosition(3, 0, 4), 0.14112000805986721, kF64Rounding);   // sin 3
  EXPECT_NEAR(SinusoidalPosition(3, 1, 4), -0.98999249660044542, kF64Rounding);  // cos 3
  EXPECT_NEAR(SinusoidalPosition(3, 2, 4), 0.02999550020249566, kF64Rounding);   // sin 0.03
  EXPECT_NEAR(SinusoidalPosition(3, 3, 4), 0.99955003374898754, kF64Rounding);   // cos 0.03
}

TEST(SinusoidalPositionTest, OddDimensionEndsWithASine) {
  const double angle = 5 / std::pow(10000, 2.0 / 3);
  EXPECT_NEAR(SinusoidalPosition(5, 2, 3), std::sin(angle), kF64Rounding);
  EXPECT_NEAR(SinusoidalPosition(5, 0, 1), std::sin(5.0), kF64Rounding);
}

TEST(SinusoidalPositionTest, IsAddedToEveryRow) {
  Matrix rows = testing::RandomMatrix(9, 5, 1);
  const Matrix before = testing::CopyOf(rows.view());
  AddSinusoidalPositions(rows.view());
  for (int64_t p = 0; p < 9; ++p) {
    for (int64_t j = 0; j < 5; ++j) {
      EXPECT_FLOAT_EQ(rows.view().at(p, j),
                      static_cast<float>(before.view().at(p, j) + SinusoidalPosition(p, j, 5)));
    }
  }
}

}  // namespace
}  // namespace attune
