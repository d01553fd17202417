// Comparing and making matrices in tests of numeric code.
#ifndef ATTUNE_TESTS_SUPPORT_NUMERIC_H_
#define ATTUNE_TESTS_SUPPORT_NUMERIC_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/tensor/matrix.h"
#include "gmock/gmock.h"

namespace attune::testing {

// The spacing of f32 at 1: one rounding is at most half of it, relatively.
inline constexpr double kEps = std::numeric_limits<float>::epsilon();

// Uniform in [-scale, scale], the same for the same seed.
inline Matrix RandomMatrix(int64_t rows, int64_t cols, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  Matrix matrix(rows, cols);
  for (float& value : matrix.span()) value = uniform(random);
  return matrix;
}

inline Matrix Copy(ConstMatrixView view) {
  Matrix copy(view.rows, view.cols);
  for (int64_t i = 0; i < view.rows; ++i) {
    std::memcpy(copy.row(i).data(), view.row(i).data(), view.row(i).size() * sizeof(float));
  }
  return copy;
}

// A matrix in double precision.
struct DoubleMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;

  DoubleMatrix() = default;
  DoubleMatrix(int64_t rows_in, int64_t cols_in)
      : rows(rows_in), cols(cols_in), values(static_cast<size_t>(rows_in * cols_in)) {}
  explicit DoubleMatrix(ConstMatrixView view) : DoubleMatrix(view.rows, view.cols) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) at(i, j) = view.at(i, j);
    }
  }
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * cols + j)]; }
  double at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * cols + j)]; }
};

// Every element of a ConstMatrixView is within `tolerance` of `expected`, a DoubleMatrix.
MATCHER_P2(AllNear, expected, tolerance, "") {
  const ConstMatrixView actual = arg;
  if (actual.rows != expected.rows || actual.cols != expected.cols) {
    *result_listener << "shape [" << actual.rows << ", " << actual.cols << "] instead of ["
                     << expected.rows << ", " << expected.cols << "]";
    return false;
  }
  for (int64_t i = 0; i < actual.rows; ++i) {
    for (int64_t j = 0; j < actual.cols; ++j) {
      const double difference = std::fabs(actual.at(i, j) - expected.at(i, j));
      if (!(difference <= tolerance)) {  // so that a NaN fails
        *result_listener << "first bad element [" << i << ", " << j << "]: " << actual.at(i, j)
                         << " instead of " << expected.at(i, j) << ", off by " << difference;
        return false;
      }
    }
  }
  return true;
}

// The elements of a ConstMatrixView are those of `expected`, bit for bit.
MATCHER_P(SameBits, expected, "") {
  const ConstMatrixView actual = arg;
  const ConstMatrixView wanted = expected;
  if (actual.rows != wanted.rows || actual.cols != wanted.cols) {
    *result_listener << "shapes differ";
    return false;
  }
  for (int64_t i = 0; i < actual.rows; ++i) {
    if (std::memcmp(actual.row(i).data(), wanted.row(i).data(),
                    static_cast<size_t>(actual.cols) * sizeof(float)) == 0) {
      continue;
    }
    *result_listener << "first different row " << i;
    return false;
  }
  return true;
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_NUMERIC_H_
