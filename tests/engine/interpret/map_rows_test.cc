#include "engine/interpret/map_rows.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr float kTolerance = 1e-6f;

const Matrix& Weights() {
  static const Matrix* const weights =
      new Matrix(MatrixOf({{.5, .25, .25}, {.2, .6, .2}, {.1, .1, .8}}));
  return *weights;
}

// Of three tokens, the first of which is special.
MapRows Select(MapQuery query, std::vector<MapRange> words = {}) {
  query.layers = {0};
  query.heads = {0};
  MapText text;
  text.seq = 3;
  text.special = {true, false, false};
  text.words = std::move(words);
  return SelectMapRows(*MakeMapPlan(std::move(query), std::move(text)), Weights().view());
}

TEST(MapRowsTest, ByDefaultEveryBitIsKept) { EXPECT_EQ(Flat(Select({}).values), Flat(Weights())); }

TEST(MapRowsTest, WordsSumColumnsAndAverageRows) {
  MapQuery query;
  query.level = MapLevel::kWord;
  EXPECT_THAT(Flat(Select(query, {{0, 1}, {1, 3}}).values),
              Pointwise(FloatNear(kTolerance), {.5f, .5f, .15f, .85f}));
}

TEST(MapRowsTest, DropLeavesTheOtherValuesAsTheyAre) {
  MapQuery query;
  query.specials = MapSpecials::kDrop;
  const MapRows rows = Select(query);
  EXPECT_THAT(Flat(rows.values), ElementsAre(.6f, .2f, .1f, .8f));
  EXPECT_THAT(rows.kept_mass, Pointwise(FloatNear(kTolerance), {.8f, .9f}));
}

TEST(MapRowsTest, RenormaliseMakesRowsSumToOne) {
  MapQuery query;
  query.specials = MapSpecials::kRenormalise;
  query.keep_special_queries = true;
  const MapRows rows = Select(query);
  EXPECT_THAT(Flat(rows.values),
              Pointwise(FloatNear(kTolerance), {.5f, .5f, .75f, .25f, 1.f / 9, 8.f / 9}));
  EXPECT_THAT(rows.kept_mass, Pointwise(FloatNear(kTolerance), {.5f, .8f, .9f}));
}

TEST(MapRowsTest, ARangeIsASliceOfTheRenormalisedMap) {
  MapQuery query;
  query.specials = MapSpecials::kRenormalise;
  query.query_range = MapRange{1, 2};
  query.key_range = MapRange{1, 2};
  const MapRows rows = Select(query);
  EXPECT_THAT(Flat(rows.values), Pointwise(FloatNear(kTolerance), {.75f}));
  EXPECT_THAT(rows.kept_mass, Pointwise(FloatNear(kTolerance), {.6f}));
}

TEST(MapRowsTest, ARowOfNothingButSpecialsIsZeroAndNoNan) {
  MapQuery query;
  query.layers = {0};
  query.heads = {0};
  query.specials = MapSpecials::kRenormalise;
  query.keep_special_queries = true;
  MapText text;
  text.seq = 2;
  text.special = {true, false};
  const MapRows rows = SelectMapRows(*MakeMapPlan(query, text), MatrixOf({{1, 0}, {0, 1}}).view());
  EXPECT_THAT(Flat(rows.values), ElementsAre(0, 1));
  EXPECT_THAT(rows.kept_mass, ElementsAre(0, 1));
}

TEST(MapRowsTest, PooledQueriesMixTheRows) {
  MapQuery query;
  query.pooled_queries = PoolingMode::kMean;
  EXPECT_THAT(Flat(Select(query).values),
              Pointwise(FloatNear(kTolerance), {.8f / 3, .95f / 3, 1.25f / 3}));
  query.pooled_queries = PoolingMode::kCls;
  EXPECT_THAT(Flat(Select(query).values), ElementsAre(.5f, .25f, .25f));
  query.pooled_queries = PoolingMode::kLastToken;
  EXPECT_THAT(Flat(Select(query).values), ElementsAre(.1f, .1f, .8f));
}

TEST(PoolMapTest, PoolsRunsOfAboutEqualLength) {
  const Matrix map = MatrixOf({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  EXPECT_THAT(Flat(PoolMap({2, MapReduction::kMax}, map.view())), ElementsAre(1, 3, 7, 9));
  EXPECT_THAT(Flat(PoolMap({2, MapReduction::kMean}, map.view())), ElementsAre(1, 2.5, 5.5, 7));
  EXPECT_THAT(Flat(PoolMap({1, MapReduction::kMean}, map.view())), ElementsAre(5));
  EXPECT_EQ(Flat(PoolMap({3, MapReduction::kMax}, map.view())), Flat(map));
  EXPECT_EQ(Flat(PoolMap({64, MapReduction::kMean}, map.view())), Flat(map));
}

}  // namespace
}  // namespace attune
