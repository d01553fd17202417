#include "engine/interpret/hidden_similarity.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::testing::FloatNear;
using ::testing::Pointwise;

TEST(HiddenSimilarityTest, IsTheCosineWhateverTheLength) {
  EXPECT_THAT(Flat(HiddenSimilarity(MatrixOf({{2, 0}, {0, .5}, {3, 3}, {-1, 0}}).view())),
              Pointwise(FloatNear(1e-6f),
                        {1.f, 0.f, .70710678f, -1.f,  //
                         0.f, 1.f, .70710678f, 0.f,   //
                         .70710678f, .70710678f, 1.f, -.70710678f, -1.f, 0.f, -.70710678f, 1.f}));
}

TEST(HiddenSimilarityTest, AZeroRowIsLikeNothing) {
  EXPECT_THAT(Flat(HiddenSimilarity(MatrixOf({{0, 0}, {1, 0}}).view())),
              Pointwise(FloatNear(0), {0.f, 0.f, 0.f, 1.f}));
}

}  // namespace
}  // namespace attune
