#include "engine/interpret/map_query.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

MapQuery Query(MapMatrix matrix) {
  MapQuery query;
  query.layers = {0};
  query.heads = {0};
  query.matrix = matrix;
  return query;
}

void ExpectRefused(const MapQuery& query, const std::string& part) {
  EXPECT_THAT(ValidateMapQuery(query),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part)));
}

TEST(MapQueryTest, DefaultsAreValid) { EXPECT_THAT(ValidateMapQuery(MapQuery()), IsOk()); }

TEST(MapQueryTest, MatricesThatMergeHeadsTakeNoChoiceOfHeads) {
  for (const MapMatrix matrix : {MapMatrix::kAttnNorm, MapMatrix::kResNorm, MapMatrix::kResLnNorm,
                                 MapMatrix::kRollout, MapMatrix::kHiddenSimilarity}) {
    MapQuery reduced = Query(matrix);
    reduced.head_reduction = MapReduction::kMean;
    ExpectRefused(reduced, "query.head_reduction does not go with query.matrix");
    MapQuery some = Query(matrix);
    some.every_head = false;
    ExpectRefused(some, "query.heads does not go with query.matrix");
    EXPECT_THAT(ValidateMapQuery(Query(matrix)), IsOk());
  }
}

TEST(MapQueryTest, SignedMatricesHaveNoSharesOfARow) {
  for (const MapMatrix matrix : {MapMatrix::kRawScores, MapMatrix::kHiddenSimilarity}) {
    MapQuery query = Query(matrix);
    query.level = MapLevel::kWord;
    ExpectRefused(query, "query.level WORD");
    query = Query(matrix);
    query.specials = MapSpecials::kRenormalise;
    ExpectRefused(query, "query.specials RENORMALISE");
    query = Query(matrix);
    query.encoding = MapEncoding::kU8;
    ExpectRefused(query, "query.encoding U8");
    query = Query(matrix);
    query.pool = MapPool();
    ExpectRefused(query, "query.pool");
    query = Query(matrix);
    query.sparsity = MapSparsity{.mass = 0.5f};
    ExpectRefused(query, "query.sparsity.mass");
    query.sparsity = MapSparsity{.top_k = 3};
    EXPECT_THAT(ValidateMapQuery(query), IsOk());
  }
}

TEST(MapQueryTest, ChecksTheRangesOfNumbers) {
  MapQuery query;
  for (const int64_t size : {int64_t{0}, int64_t{-1}, int64_t{65}}) {
    query.pool = MapPool{.size = size};
    ExpectRefused(query, "it must be from 1 to 64");
  }
  query.pool = MapPool{.reduction = MapReduction::kL2};
  ExpectRefused(query, "query.pool.reduction");
  query.pool.reset();
  for (const float mass : {0.0f, -0.5f, 1.5f, std::numeric_limits<float>::quiet_NaN()}) {
    query.sparsity = MapSparsity{.mass = mass};
    ExpectRefused(query, "query.sparsity needs a top_k of at least 1, or a mass");
  }
  query.sparsity.reset();
  query.key_range = MapRange{3, 3};
  ExpectRefused(query, "query.key_range is [3, 3)");
  query.key_range.reset();
  query.query_range = MapRange{4, 3};
  ExpectRefused(query, "query.query_range is [4, 3)");
}

TEST(MapQueryTest, RefusesPairsThatContradict) {
  MapQuery query;
  query.pool = MapPool();
  query.sparsity = MapSparsity{.top_k = 1};
  ExpectRefused(query, "query.sparsity does not go with query.pool");

  MapQuery pooled;
  pooled.pooled_queries = PoolingMode::kMean;
  pooled.query_range = MapRange{0, 1};
  ExpectRefused(pooled, "query.query_range does not go with query.pooled_queries");
  pooled.query_range.reset();
  pooled.pooled_queries = PoolingMode::kMax;
  ExpectRefused(pooled, "query.pooled_queries needs a pooling that mixes rows");

  MapQuery layers;
  layers.layer_reduction = MapReduction::kMax;
  ExpectRefused(layers, "query.layer_reduction");
}

TEST(MapQueryTest, MixingRatiosNeedAMatrixThatDefinesThem) {
  for (const MapMatrix matrix : {MapMatrix::kRawScores, MapMatrix::kValueNorm, MapMatrix::kRollout,
                                 MapMatrix::kHiddenSimilarity}) {
    MapQuery query = Query(matrix);
    query.mixing_ratio = true;
    ExpectRefused(query, "query.mixing_ratio does not go with query.matrix");
  }
  MapQuery some_heads = Query(MapMatrix::kWeights);
  some_heads.mixing_ratio = true;
  EXPECT_THAT(ValidateMapQuery(some_heads), IsOk());
  some_heads.every_head = false;
  ExpectRefused(some_heads, "query.mixing_ratio does not go with query.heads");
}

}  // namespace
}  // namespace attune
