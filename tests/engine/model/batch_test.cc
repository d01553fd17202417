#include "engine/model/batch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BatchTest, PacksTextsOneAfterTheOther) {
  Batch batch;
  EXPECT_EQ(batch.texts(), 0);
  EXPECT_EQ(batch.tokens(), 0);
  batch.Append({2, 7, 3}, {0, 0, 1});
  batch.Append({2, 3}, {});
  EXPECT_EQ(batch.texts(), 2);
  EXPECT_EQ(batch.tokens(), 5);
  EXPECT_EQ(batch.seq(0), 3);
  EXPECT_EQ(batch.seq(1), 2);
  EXPECT_THAT(batch.token_ids, ElementsAre(2, 7, 3, 2, 3));
  EXPECT_THAT(batch.type_ids, ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(batch.row_begin, ElementsAre(0, 3, 5));
}

TEST(BatchTest, AnEmptyTextTakesAPlaceAndNoRow) {
  Batch batch;
  batch.Append({}, {});
  batch.Append({5}, {});
  EXPECT_EQ(batch.texts(), 2);
  EXPECT_EQ(batch.seq(0), 0);
  EXPECT_EQ(batch.seq(1), 1);
}

TEST(BatchTest, TextsOfVectorsStandBesideTextsOfIds) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  Batch batch;
  batch.Append({7}, {1});
  batch.AppendVectors({values.data(), 3, 2});
  batch.Append({8, 9}, {});
  EXPECT_EQ(batch.tokens(), 6);
  EXPECT_EQ(batch.seq(1), 3);
  EXPECT_THAT(batch.token_ids, ElementsAre(7, 0, 0, 0, 8, 9));
  EXPECT_THAT(batch.type_ids, ElementsAre(1, 0, 0, 0, 0, 0));
  EXPECT_EQ(batch.VectorsOf(0).rows, 0);
  EXPECT_EQ(batch.VectorsOf(1).data, values.data());
  EXPECT_EQ(batch.VectorsOf(2).rows, 0);
}

TEST(BatchTest, ALimitIsOfTheTextAppendedLast) {
  Batch batch;
  batch.Append({7}, {});
  batch.LimitAttention({});
  batch.Append({8, 9}, {});
  batch.LimitAttention({.before = 1, .after = 0});
  batch.Append({5}, {});
  EXPECT_TRUE(batch.WindowOf(0).is_all());
  EXPECT_EQ(batch.WindowOf(1).before, 1);
  EXPECT_EQ(batch.WindowOf(1).after, 0);
  EXPECT_TRUE(batch.WindowOf(2).is_all());
}

TEST(BatchTest, ClearingMakesItLikeNew) {
  Batch batch;
  const std::vector<float> values = {1, 2};
  batch.AppendVectors({values.data(), 1, 2});
  batch.Append({2, 3}, {});
  batch.LimitAttention({.before = 1, .after = 0});
  batch.Clear();
  EXPECT_EQ(batch.texts(), 0);
  EXPECT_EQ(batch.tokens(), 0);
  EXPECT_THAT(batch.token_ids, IsEmpty());
  EXPECT_THAT(batch.type_ids, IsEmpty());
  EXPECT_THAT(batch.vectors, IsEmpty());
  EXPECT_THAT(batch.windows, IsEmpty());
}

TEST(BatchDeathTest, RefusesTypesOfAnotherLengthThanTheIds) {
  Batch batch;
  EXPECT_DEATH(batch.Append({1, 2}, {0}), "types.size\\(\\) == ids.size\\(\\)");
}

}  // namespace
}  // namespace attune
