// Small matrices for the tests of Attend.
#ifndef ATTUNE_TESTS_ENGINE_INTERPRET_TEST_MATRICES_H_
#define ATTUNE_TESTS_ENGINE_INTERPRET_TEST_MATRICES_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "engine/tensor/matrix.h"

namespace attune::testing {

// REQUIRES: rows of equal length.
inline Matrix MatrixOf(std::initializer_list<std::vector<float>> rows) {
  Matrix matrix(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.begin()->size()));
  int64_t i = 0;
  for (const std::vector<float>& row : rows) {
    std::copy(row.begin(), row.end(), matrix.row(i++).begin());
  }
  return matrix;
}

// Uniform in [-1, 1). std::mt19937 gives the same numbers everywhere.
inline Matrix RandomMatrix(int64_t rows, int64_t cols, uint32_t seed) {
  std::mt19937 generator(seed);
  Matrix matrix(rows, cols);
  for (float& value : matrix.span()) {
    value = static_cast<float>(generator() >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return matrix;
}

inline Matrix CopyOf(ConstMatrixView src) {
  Matrix dst(src.rows, src.cols);
  for (int64_t i = 0; i < src.rows; ++i) {
    std::copy(src.row(i).begin(), src.row(i).end(), dst.row(i).begin());
  }
  return dst;
}

inline std::vector<float> Flat(ConstMatrixView view) {
  std::vector<float> values;
  for (int64_t i = 0; i < view.rows; ++i) {
    values.insert(values.end(), view.row(i).begin(), view.row(i).end());
  }
  return values;
}
inline std::vector<float> Flat(const Matrix& matrix) { return Flat(matrix.view()); }

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_ENGINE_INTERPRET_TEST_MATRICES_H_
