#include "engine/tensor/matrix.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Matrix Counting(int64_t rows, int64_t cols) {
  Matrix matrix(rows, cols);
  std::iota(matrix.span().begin(), matrix.span().end(), 0.0f);
  return matrix;
}

TEST(MatrixTest, IsZeroedAlignedAndDense) {
  const Matrix matrix(3, 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(matrix.data()) % 64, 0u);
  EXPECT_EQ(matrix.span().size(), 15u);
  EXPECT_THAT(matrix.span(), Each(0.0f));
  EXPECT_EQ(matrix.row(2).data(), matrix.data() + 10);
}

TEST(MatrixTest, EmptyShapesAreAllowed) {
  EXPECT_TRUE(Matrix(0, 7).span().empty());
  EXPECT_TRUE(Matrix(7, 0).span().empty());
  EXPECT_TRUE(Matrix().span().empty());
}

TEST(MatrixTest, ViewsSelectRowsAndColumnsWithoutCopying) {
  Matrix matrix = Counting(4, 3);
  const MatrixView block = matrix.view().Rows(1, 3).Cols(1, 3);
  EXPECT_THAT(block.row(0), ElementsAre(4, 5));
  EXPECT_THAT(block.row(1), ElementsAre(7, 8));
  block.at(1, 0) = -1;
  EXPECT_EQ(matrix.view().at(2, 1), -1);
  const ConstMatrixView same = block;
  EXPECT_EQ(same.stride, 3);
  EXPECT_THAT(same.Cols(0, 1).row(1), ElementsAre(-1));
}

TEST(MatrixTest, MovingTakesShapeAndMemory) {
  Matrix from = Counting(2, 2);
  const float* data = from.data();
  Matrix to(5, 5);
  to = std::move(from);
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(to.rows(), 2);
  EXPECT_THAT(to.span(), ElementsAre(0, 1, 2, 3));
}

TEST(MatrixDeathTest, RefusesShapesWhoseSizeOverflows) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_DEATH(Matrix(kHuge, 3), "mul_overflow");
  EXPECT_DEATH(Matrix(kHuge, 1), "mul_overflow");
  EXPECT_DEATH(Matrix(-1, 1), "rows >= 0");
}

}  // namespace
}  // namespace attune
