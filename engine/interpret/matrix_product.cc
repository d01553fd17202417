#include "engine/interpret/matrix_product.h"

#include <algorithm>
#include <cstdint>

#include "engine/base/check.h"

namespace attune {
namespace {

// A tile of sums stays in the first-level cache while one strip of `right` passes by it; each value
// of `right` that was loaded and widened serves all the tile's rows.
constexpr int64_t kTileRows = 4;
constexpr int64_t kTileCols = 256;

// The product of two f32 is exact in f64: neither the tiling nor a fused multiply-add changes a
// bit.
template <int64_t kRows>
void MultiplyTile(ConstMatrixView left, ConstMatrixView right, double scale, MatrixView dst) {
  double sums[kTileRows][kTileCols] = {};
  for (int64_t k = 0; k < right.rows; ++k) {
    const float* right_row = right.data + k * right.stride;
    double factors[kTileRows];
    for (int64_t i = 0; i < kRows; ++i) factors[i] = left.at(i, k);
    for (int64_t j = 0; j < right.cols; ++j) {
      const double value = right_row[j];
      for (int64_t i = 0; i < kRows; ++i) sums[i][j] += factors[i] * value;
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < right.cols; ++j) dst.at(i, j) = static_cast<float>(scale * sums[i][j]);
  }
}

}  // namespace

void Multiply(ConstMatrixView left, ConstMatrixView right, double scale, MatrixView dst) {
  ATTUNE_CHECK(left.cols == right.rows && dst.rows == left.rows && dst.cols == right.cols);
  for (int64_t col = 0; col < dst.cols; col += kTileCols) {
    const int64_t col_end = std::min(col + kTileCols, dst.cols);
    const ConstMatrixView strip = right.Cols(col, col_end);
    const MatrixView dst_strip = dst.Cols(col, col_end);
    int64_t row = 0;
    for (; row + kTileRows <= dst.rows; row += kTileRows) {
      MultiplyTile<kTileRows>(left.Rows(row, row + kTileRows), strip, scale,
                              dst_strip.Rows(row, row + kTileRows));
    }
    for (; row < dst.rows; ++row) {
      MultiplyTile<1>(left.Rows(row, row + 1), strip, scale, dst_strip.Rows(row, row + 1));
    }
  }
}

Matrix Transpose(ConstMatrixView src) {
  Matrix dst(src.cols, src.rows);
  const MatrixView view = dst.view();
  for (int64_t i = 0; i < src.rows; ++i) {
    for (int64_t j = 0; j < src.cols; ++j) view.at(j, i) = src.at(i, j);
  }
  return dst;
}

}  // namespace attune
