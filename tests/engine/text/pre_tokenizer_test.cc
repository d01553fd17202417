#include "engine/text/pre_tokenizer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Words(PreTokenizerKind kind, absl::string_view text) {
  std::vector<std::string> words;
  PreTokenizer(kind).ForEachWord(text, [&](size_t begin, size_t end) {
    words.emplace_back(text.substr(begin, end - begin));
    return true;
  });
  return words;
}

TEST(PreTokenizerTest, BertIsolatesPunctuationAndDropsSpace) {
  EXPECT_THAT(Words(PreTokenizerKind::kBert, " Hey  friend!?\u3000\u00abx\u00bb "),
              ElementsAre("Hey", "friend", "!", "?", "\u00ab", "x", "\u00bb"));
}

TEST(PreTokenizerTest, C06BertKeepsSymbolsOutsideAsciiInTheWord) {
  EXPECT_THAT(Words(PreTokenizerKind::kBert, "price\u20ac5 $5"),
              ElementsAre("price\u20ac5", "$", "5"));
}

TEST(PreTokenizerTest, WhitespaceSeparatesWordCharactersFromSymbols) {
  EXPECT_THAT(Words(PreTokenizerKind::kWhitespace, "Hey man!?  a_b\u00e9-\u20ac"),
              ElementsAre("Hey", "man", "!?", "a_b\u00e9", "-\u20ac"));
}

TEST(PreTokenizerTest, WhitespaceSplitKeepsPunctuationInTheWord) {
  EXPECT_THAT(Words(PreTokenizerKind::kWhitespaceSplit, "a.b\u2028c\u200bd\u00a0e"),
              ElementsAre("a.b", "c\u200bd", "e"));
}

TEST(PreTokenizerTest, NoneMakesOneWordOfTheText) {
  EXPECT_THAT(Words(PreTokenizerKind::kNone, " a. b "), ElementsAre(" a. b "));
}

TEST(PreTokenizerTest, EmptyAndBlankTextsHaveNoWords) {
  EXPECT_THAT(Words(PreTokenizerKind::kBert, ""), IsEmpty());
  EXPECT_THAT(Words(PreTokenizerKind::kBert, " \u3000\n"), IsEmpty());
  EXPECT_THAT(Words(PreTokenizerKind::kNone, ""), IsEmpty());
}

TEST(PreTokenizerTest, StopsWhenTheVisitorSaysSo) {
  int calls = 0;
  EXPECT_FALSE(PreTokenizer(PreTokenizerKind::kBert).ForEachWord("a b c", [&](size_t, size_t) {
    return ++calls < 2;
  }));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace attune
