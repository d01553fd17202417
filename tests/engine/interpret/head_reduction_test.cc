#include "engine/interpret/head_reduction.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::testing::ElementsAre;

TEST(HeadReductionTest, CombinesCellByCell) {
  const Matrix a = MatrixOf({{3, 0}, {1, 2}});
  const Matrix b = MatrixOf({{4, 0}, {5, 6}});
  const std::vector<ConstMatrixView> maps = {a.view(), b.view()};
  EXPECT_THAT(Flat(ReduceHeads(MapReduction::kMean, maps)), ElementsAre(3.5f, 0, 3, 4));
  EXPECT_THAT(Flat(ReduceHeads(MapReduction::kMax, maps)), ElementsAre(4, 0, 5, 6));
  EXPECT_THAT(Flat(ReduceHeads(MapReduction::kSum, maps)), ElementsAre(7, 0, 6, 8));
  const std::vector<float> l2 = Flat(ReduceHeads(MapReduction::kL2, maps));
  EXPECT_FLOAT_EQ(l2[0], 5);
  EXPECT_FLOAT_EQ(l2[3], 6.3245553f);
}

TEST(HeadReductionTest, OneMapIsItself) {
  const Matrix map = MatrixOf({{.25, .75}});
  for (const MapReduction reduction :
       {MapReduction::kMean, MapReduction::kMax, MapReduction::kSum, MapReduction::kL2}) {
    EXPECT_THAT(Flat(ReduceHeads(reduction, {map.view()})), ElementsAre(.25f, .75f));
  }
}

}  // namespace
}  // namespace attune
