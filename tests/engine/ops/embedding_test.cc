#include "engine/ops/embedding.h"

#include <vector>

#include "gmock/gmock.h"
#include "tests/support/numeric.h"

namespace attune {
namespace {

using testing::RandomMatrix;

TEST(EmbeddingTest, SumsWordTypeAndPositionInThatOrder) {
  constexpr int64_t kHidden = 37;
  const Matrix words = RandomMatrix(50, kHidden, 1.0f, 1);
  const Matrix types = RandomMatrix(2, kHidden, 1.0f, 2);
  const Matrix positions = RandomMatrix(10, kHidden, 1.0f, 3);
  const std::vector<int32_t> token_ids = {49, 0, 7, 7};
  const std::vector<int32_t> type_ids = {0, 1, 1, 0};
  const std::vector<int32_t> position_ids = {0, 9, 3, 4};
  Matrix dst(4, kHidden);
  SumEmbeddings({words.view(), types.view(), positions.view()}, token_ids, type_ids, position_ids,
                dst.view());
  for (size_t i = 0; i < token_ids.size(); ++i) {
    for (int64_t j = 0; j < kHidden; ++j) {
      const float word_and_type =
          words.view().at(token_ids[i], j) + types.view().at(type_ids[i], j);
      EXPECT_EQ(dst.view().at(static_cast<int64_t>(i), j),
                word_and_type + positions.view().at(position_ids[i], j));
    }
  }
}

TEST(EmbeddingTest, GivenWordVectorsAreSummedLikeThoseLookedUp) {
  constexpr int64_t kHidden = 37;
  const Matrix words = RandomMatrix(50, kHidden, 1.0f, 1);
  const Matrix types = RandomMatrix(2, kHidden, 1.0f, 2);
  const Matrix positions = RandomMatrix(10, kHidden, 1.0f, 3);
  const EmbeddingTables tables = {words.view(), types.view(), positions.view()};
  const std::vector<int32_t> type_ids = {0, 1, 1};
  const std::vector<int32_t> position_ids = {0, 1, 2};
  Matrix looked_up(3, kHidden);
  SumEmbeddings(tables, {20, 21, 22}, type_ids, position_ids, looked_up.view());
  Matrix given(3, kHidden);
  SumGivenEmbeddings(words.view().Rows(20, 23), tables, type_ids, position_ids, given.view());
  EXPECT_THAT(given.view(), testing::SameBits(looked_up.view()));
}

}  // namespace
}  // namespace attune
