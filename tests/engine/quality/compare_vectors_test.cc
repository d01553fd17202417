#include "engine/quality/compare_vectors.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace attune {
namespace {

Matrix RandomRows(int64_t rows, int64_t cols, unsigned seed) {
  Matrix matrix(rows, cols);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& value : matrix.span()) value = normal(random);
  return matrix;
}

Matrix Copy(const Matrix& from) {
  Matrix copy(from.rows(), from.cols());
  std::copy(from.span().begin(), from.span().end(), copy.span().begin());
  return copy;
}

TEST(CompareVectorsTest, EqualVectorsAgreeInEverything) {
  const Matrix vectors = RandomRows(40, 16, 1);
  const QualityFigures figures = CompareVectors(vectors.view(), vectors.view());
  EXPECT_EQ(figures.texts, 40);
  EXPECT_EQ(figures.neighbours, 10);
  EXPECT_NEAR(figures.mean_cosine, 1, 1e-12);
  EXPECT_NEAR(figures.min_cosine, 1, 1e-12);
  EXPECT_EQ(figures.max_difference, 0);
  EXPECT_EQ(figures.mean_overlap, 1);
  EXPECT_EQ(figures.worst_overlap, 1);
}

TEST(CompareVectorsTest, OneBadTextShowsInTheMinimumAndLittleInTheMean) {
  const Matrix reference = RandomRows(100, 16, 2);
  Matrix candidate = Copy(reference);
  for (float& value : candidate.row(7)) value = -value;
  const QualityFigures figures = CompareVectors(reference.view(), candidate.view());
  EXPECT_NEAR(figures.min_cosine, -1, 1e-12);
  EXPECT_NEAR(figures.mean_cosine, 0.98, 1e-12);
}

TEST(CompareVectorsTest, CosineIsOfTheAngleAndTheDifferenceOfTheValues) {
  Matrix reference(2, 2);
  Matrix candidate(2, 2);
  reference.view().at(0, 0) = reference.view().at(1, 1) = 1;
  candidate.view().at(0, 0) = candidate.view().at(0, 1) = 3;  // 45 degrees, and longer
  candidate.view().at(1, 1) = 0.5f;
  const QualityFigures figures = CompareVectors(reference.view(), candidate.view());
  EXPECT_NEAR(figures.min_cosine, std::sqrt(0.5), 1e-12);
  EXPECT_EQ(figures.max_difference, 3);
  EXPECT_EQ(figures.neighbours, 1);
}

TEST(CompareVectorsTest, AZeroVectorEqualsOnlyAnotherZero) {
  Matrix reference(2, 3);
  Matrix candidate(2, 3);
  reference.view().at(0, 0) = candidate.view().at(0, 0) = 1;
  EXPECT_EQ(CompareVectors(reference.view(), candidate.view()).min_cosine, 1);
  candidate.view().at(1, 0) = 1;
  EXPECT_EQ(CompareVectors(reference.view(), candidate.view()).min_cosine, 0);
}

// Twelve texts on a line of directions, a degree apart: the nearest of one end are the others, the
// farthest left out. Sending one text to the other side of the circle takes it from all lists.
TEST(CompareVectorsTest, OverlapCountsTheNeighboursThatAreKept) {
  Matrix reference(12, 2);
  for (int64_t i = 0; i < 12; ++i) {
    const double angle = static_cast<double>(i) * std::acos(-1) / 180;
    reference.view().at(i, 0) = static_cast<float>(std::cos(angle));
    reference.view().at(i, 1) = static_cast<float>(std::sin(angle));
  }
  Matrix candidate = Copy(reference);
  for (float& value : candidate.row(11)) value = -value;
  const QualityFigures figures = CompareVectors(reference.view(), candidate.view());
  // Rows 0 to 5 never had row 11 among their ten nearest. Rows 6 to 10 lose it for row 0. Row 11
  // itself now finds row 0 nearest, and leaves out row 10 where it left out row 0 before.
  EXPECT_DOUBLE_EQ(figures.worst_overlap, 0.9);
  EXPECT_DOUBLE_EQ(figures.mean_overlap, (6 * 1.0 + 6 * 0.9) / 12);
}

}  // namespace
}  // namespace attune
