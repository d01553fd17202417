#include "engine/interpret/matrix_product.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::testing::ElementsAre;

TEST(MatrixProductTest, RoundsOnceWhateverTheShape) {
  // Rows and columns below, at and past the edges of a tile.
  for (const int64_t rows : {1, 3, 4, 5, 9}) {
    for (const int64_t cols : {1, 255, 256, 257}) {
      const Matrix left = RandomMatrix(rows, 19, 1);
      const Matrix right = RandomMatrix(19, cols, 2);
      Matrix dst(rows, cols);
      Multiply(left.view(), right.view(), 0.5, dst.view());
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < 19; ++k) {
            sum += double{left.view().at(i, k)} * right.view().at(k, j);
          }
          ASSERT_EQ(dst.view().at(i, j), static_cast<float>(0.5 * sum))
              << "[" << i << ", " << j << "] of [" << rows << ", " << cols << "]";
        }
      }
    }
  }
}

TEST(MatrixProductTest, ReadsAndWritesStridedViews) {
  const Matrix left = MatrixOf({{9, 1, 2, 9}, {9, 3, 4, 9}});
  const Matrix right = MatrixOf({{5, 9}, {6, 9}});
  Matrix dst(2, 3);
  Multiply(left.view().Cols(1, 3), right.view().Cols(0, 1), 1, dst.view().Cols(2, 3));
  EXPECT_THAT(Flat(dst), ElementsAre(0, 0, 17, 0, 0, 39));
}

// In f32 the small addends would vanish one by one beside the large one.
TEST(MatrixProductTest, SumsInDouble) {
  const int64_t terms = 4096;
  Matrix left(1, terms + 1);
  Matrix right(terms + 1, 1);
  for (int64_t k = 0; k <= terms; ++k) {
    left.view().at(0, k) = k == 0 ? 1e8F : 1;
    right.view().at(k, 0) = 1;
  }
  Matrix dst(1, 1);
  Multiply(left.view(), right.view(), 1, dst.view());
  EXPECT_EQ(dst.row(0)[0], 100004096.0F);
}

TEST(MatrixProductTest, Transposes) {
  EXPECT_THAT(Flat(Transpose(MatrixOf({{1, 2, 3}, {4, 5, 6}}).view().Cols(1, 3))),
              ElementsAre(2, 5, 3, 6));
}

}  // namespace
}  // namespace attune
