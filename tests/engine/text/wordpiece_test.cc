#include "engine/text/wordpiece.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::ElementsAre;

constexpr int32_t kUnknown = 0;

WordPiece Toy(int64_t max_word_code_points = 100, std::string prefix = "##") {
  WordPieceOptions options;
  options.continuing_prefix = std::move(prefix);
  options.max_word_code_points = max_word_code_points;
  options.unknown_id = kUnknown;
  return WordPiece({{"[UNK]", kUnknown},
                    {"un", 1},
                    {"##aff", 2},
                    {"##able", 3},
                    {"##a", 4},
                    {"una", 5},
                    {"\u00e9", 6},
                    {"##\u00e9", 7},
                    {"able", 8}},
                   options);
}

std::vector<int32_t> Ids(const WordPiece& model, absl::string_view word) {
  std::vector<int32_t> ids;
  model.Tokenize(word, &ids, nullptr);
  return ids;
}

TEST(WordPieceTest, TakesTheLongestPieceFirstWithNoWayBack) {
  EXPECT_THAT(Ids(Toy(), "unable"), ElementsAre(kUnknown));  // "una" leaves "ble", no way back
  EXPECT_THAT(Ids(Toy(), "unaa"), ElementsAre(5, 4));
  EXPECT_THAT(Ids(Toy(), "able"), ElementsAre(8));
}

TEST(WordPieceTest, C06OneMissingPieceMakesTheWholeWordUnknown) {
  std::vector<int32_t> ids = {9};
  std::vector<size_t> ends = {1};
  Toy().Tokenize("unaax", &ids, &ends);
  EXPECT_THAT(ids, ElementsAre(9, kUnknown));
  EXPECT_THAT(ends, ElementsAre(1, 5));
}

TEST(WordPieceTest, ReportsWhereEachPieceEnds) {
  std::vector<int32_t> ids;
  std::vector<size_t> ends;
  Toy().Tokenize("una\u00e9a", &ids, &ends);
  EXPECT_THAT(ids, ElementsAre(5, 7, 4));
  EXPECT_THAT(ends, ElementsAre(3, 5, 6));
}

TEST(WordPieceTest, CountsTheWordLimitInCodePoints) {
  EXPECT_THAT(Ids(Toy(3), "\u00e9\u00e9\u00e9"), ElementsAre(6, 7, 7));
  EXPECT_THAT(Ids(Toy(2), "\u00e9\u00e9\u00e9"), ElementsAre(kUnknown));
  EXPECT_THAT(Ids(Toy(0), "un"), ElementsAre(kUnknown));
}

TEST(WordPieceTest, AnEmptyPrefixContinuesWithTheSamePieces) {
  EXPECT_THAT(Ids(Toy(100, ""), "unable"), ElementsAre(kUnknown));
  EXPECT_THAT(Ids(Toy(100, ""), "ununa"), ElementsAre(1, 5));
}

TEST(WordPieceTest, WithoutContinuingPiecesOnlyWholeWordsAreKnown) {
  EXPECT_THAT(Ids(Toy(100, "@@"), "un"), ElementsAre(1));
  EXPECT_THAT(Ids(Toy(100, "@@"), "unun"), ElementsAre(kUnknown));
}

}  // namespace
}  // namespace attune
