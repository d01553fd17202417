#include "client/cli/similarity.h"

#include "gmock/gmock.h"

namespace attune::cli {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

// Inputs are small integers; what is left is the rounding of one square root and one division.
constexpr double kTolerance = 4e-16;

TEST(SimilarityTest, IsTheCosineOfEveryPair) {
  const std::vector<std::vector<float>> vectors = {{3, 4}, {4, 3}, {-3, -4}};
  const auto near = [](double value) { return DoubleNear(value, kTolerance); };
  EXPECT_THAT(CosineMatrix(vectors), ElementsAre(near(1), near(0.96), near(-1),     //
                                                 near(0.96), near(1), near(-0.96),  //
                                                 near(-1), near(-0.96), near(1)));
}

TEST(SimilarityTest, OfAZeroVectorIsZero) {
  const std::vector<std::vector<float>> vectors = {{0, 0}, {1, 0}};
  EXPECT_THAT(CosineMatrix(vectors), ElementsAre(0, 0, 0, 1));
}

TEST(SimilarityTest, NormIsTheEuclideanLength) {
  EXPECT_EQ(Norm(std::vector<float>{3, 4}), 5);
  EXPECT_EQ(Norm({}), 0);
}

}  // namespace
}  // namespace attune::cli
