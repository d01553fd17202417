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

TEST(BatchTest, ClearingMakesItLikeNew) {
  Batch batch;
  batch.Append({2, 3}, {});
  batch.Clear();
  EXPECT_EQ(batch.texts(), 0);
  EXPECT_EQ(batch.tokens(), 0);
  EXPECT_THAT(batch.token_ids, IsEmpty());
  EXPECT_THAT(batch.type_ids, IsEmpty());
}

TEST(BatchDeathTest, RefusesTypesOfAnotherLengthThanTheIds) {
  Batch batch;
  EXPECT_DEATH(batch.Append({1, 2}, {0}), "types.size\\(\\) == ids.size\\(\\)");
}

}  // namespace
}  // namespace attune
