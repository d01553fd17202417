#include "engine/interpret/map_plan.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// [CLS] a b ##b c [SEP]
MapText Text() {
  MapText text;
  text.seq = 6;
  text.special = {true, false, false, false, false, true};
  text.words = {{0, 1}, {1, 2}, {2, 4}, {4, 5}, {5, 6}};
  return text;
}

MapText LongText(int64_t seq) {
  MapText text;
  text.seq = seq;
  text.special.resize(static_cast<size_t>(seq));
  return text;
}

MapQuery Query(std::vector<int64_t> layers = {0, 2}, std::vector<int64_t> heads = {0, 1, 3}) {
  MapQuery query;
  query.layers = std::move(layers);
  query.heads = std::move(heads);
  return query;
}

MapPlan Plan(MapQuery query, MapText text = Text()) {
  auto plan = MakeMapPlan(std::move(query), std::move(text));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(MapPlanTest, ByDefaultEveryTokenIsARowAndAColumn) {
  const MapPlan plan = Plan(Query());
  EXPECT_THAT(plan.shape(), ElementsAre(2, 3, 6, 6));
  EXPECT_THAT(plan.queries, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_FALSE(plan.has_kept_mass());
}

TEST(MapPlanTest, ReductionsLeaveOne) {
  MapQuery query = Query();
  query.head_reduction = MapReduction::kMax;
  EXPECT_THAT(Plan(query).shape(), ElementsAre(2, 1, 6, 6));
  query.layer_reduction = MapReduction::kMean;
  EXPECT_THAT(Plan(query).shape(), ElementsAre(1, 1, 6, 6));
  MapQuery rollout = Query();
  rollout.matrix = MapMatrix::kRollout;
  EXPECT_THAT(Plan(rollout).shape(), ElementsAre(2, 1, 6, 6));
  MapQuery none = Query();
  none.matrix = MapMatrix::kNone;
  EXPECT_THAT(Plan(none).shape(), ElementsAre(0, 0, 0, 0));
}

TEST(MapPlanTest, WordsAreCountedAsWords) {
  MapQuery query = Query();
  query.level = MapLevel::kWord;
  query.specials = MapSpecials::kDrop;
  const MapPlan plan = Plan(query);
  EXPECT_THAT(plan.shape(), ElementsAre(2, 3, 3, 3));
  EXPECT_THAT(plan.keys, ElementsAre(1, 2, 3));
}

TEST(MapPlanTest, RangesAreOfWhatSpecialsLeft) {
  MapQuery query = Query();
  query.specials = MapSpecials::kRenormalise;
  query.keep_special_queries = true;
  query.query_range = MapRange{0, 2};
  query.key_range = MapRange{0, 3};
  const MapPlan plan = Plan(query);
  EXPECT_THAT(plan.queries, ElementsAre(0, 1));
  EXPECT_THAT(plan.keys, ElementsAre(1, 2));
  EXPECT_THAT(plan.unsliced_keys, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(plan.has_kept_mass());
}

TEST(MapPlanTest, RefusesARangeBeyondTheText) {
  MapQuery query = Query();
  query.key_range = MapRange{0, 7};
  EXPECT_THAT(MakeMapPlan(query, Text()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("query.key_range is [0, 7); the map has 6")));
  query.level = MapLevel::kWord;
  query.key_range = MapRange{0, 6};
  EXPECT_THAT(MakeMapPlan(query, Text()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the map has 5")));
}

TEST(MapPlanTest, RefusesTextsThatAreTooLongForTheirMatrix) {
  struct Limit {
    MapMatrix matrix;
    int64_t tokens;
    std::string name;
  };
  for (const Limit& limit : {Limit{MapMatrix::kFlow, 32, "FLOW"},
                             Limit{MapMatrix::kValueZeroing, 256, "VALUE_ZEROING"}}) {
    MapQuery query = Query();
    query.matrix = limit.matrix;
    EXPECT_THAT(MakeMapPlan(query, LongText(limit.tokens)), IsOk());
    EXPECT_THAT(MakeMapPlan(query, LongText(limit.tokens + 1)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("query.matrix " + limit.name + " takes texts of at most " +
                                   std::to_string(limit.tokens) + " tokens; this one has " +
                                   std::to_string(limit.tokens + 1))));
  }
}

TEST(MapPlanTest, PooledQueriesAreOneRow) {
  MapQuery query = Query();
  query.pooled_queries = PoolingMode::kWeightedMean;
  const MapPlan plan = Plan(query);
  EXPECT_THAT(plan.shape(), ElementsAre(2, 3, 1, 6));
  EXPECT_THAT(plan.queries, IsEmpty());
  EXPECT_DOUBLE_EQ(plan.pooled_weights[2], 3.0 / 21);
}

TEST(MapPlanTest, AMapSmallerThanItsPictureStaysAsItIs) {
  MapQuery query = Query();
  query.pool = MapPool{.size = 4};
  EXPECT_THAT(Plan(query).shape(), ElementsAre(2, 3, 4, 4));
  query.pool = MapPool{.size = 64};
  EXPECT_THAT(Plan(query).shape(), ElementsAre(2, 3, 6, 6));
}

// The sizes of a 12 x 12 model at 512 tokens, worked by hand; 3 bytes for each row's and column's
// number.
TEST(MapPlanTest, TellsTheBytesOfEachForm) {
  constexpr int64_t kRows = 144 * 512;
  constexpr int64_t kNumbers = 3 * 1024;
  std::vector<int64_t> all(12);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  MapQuery query = Query(all, all);
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), 150'994'944 + kNumbers);
  query.encoding = MapEncoding::kF16;
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), kRows * 512 * 2 + kNumbers);
  query.encoding = MapEncoding::kU8;
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), kRows * (512 + 4) + kNumbers);
  query.encoding = MapEncoding::kF16;
  query.sparsity = MapSparsity{.top_k = 8};
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), kRows * (8 * 4 + 2 + 4) + kNumbers);
  query.sparsity = MapSparsity{.mass = 0.7f};
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), kRows * (512 * 4 + 2 + 4) + kNumbers);
  query.sparsity->max_k = 16;
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), kRows * (16 * 4 + 2 + 4) + kNumbers);
  query.sparsity.reset();
  query.encoding = MapEncoding::kU8;
  query.pool = MapPool{.size = 32};
  EXPECT_EQ(Plan(query, LongText(512)).ResultBytes(), 144 * 32 * (32 + 4) + kNumbers);
}

TEST(MapPlanTest, BytesSaturate) {
  std::vector<int64_t> many(100'000);
  MapQuery query = Query(many, many);
  MapPlan plan = Plan(query, LongText(100));
  plan.text.seq = std::numeric_limits<int64_t>::max() / 2;
  plan.query.mixing_ratio = true;
  EXPECT_EQ(plan.ResultBytes(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(plan.WorkingBytes(12, 768), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace attune
