#include "engine/text/added_vocabulary.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

AddedToken Token(std::string content, int32_t id) {
  AddedToken token;
  token.content = std::move(content);
  token.id = id;
  return token;
}

// Each segment as its text, tokens with "=<id>" behind it.
std::vector<std::string> Cut(const std::vector<AddedToken>& tokens, absl::string_view text,
                             bool specials_as_text = false) {
  const auto vocabulary = AddedVocabulary::Create(tokens, Normalizer({}));
  EXPECT_THAT(vocabulary, testing::IsOk());
  std::vector<std::string> segments;
  AddedTokenMatcher::Cursor cursor(vocabulary->raw(), text, specials_as_text);
  AddedTokenMatcher::Segment segment;
  while (cursor.Next(&segment)) {
    segments.emplace_back(text.substr(segment.begin, segment.end - segment.begin));
    if (segment.token != nullptr) absl::StrAppend(&segments.back(), "=", segment.token->id);
  }
  return segments;
}

TEST(AddedVocabularyTest, CutsTheTextAtTokens) {
  EXPECT_THAT(Cut({Token("[X]", 1)}, "a[X] b[X][X]"),
              ElementsAre("a", "[X]=1", " b", "[X]=1", "[X]=1"));
  EXPECT_THAT(Cut({Token("[X]", 1)}, "[X"), ElementsAre("[X"));
  EXPECT_THAT(Cut({Token("[X]", 1)}, ""), IsEmpty());
  EXPECT_THAT(Cut({}, "a[X]"), ElementsAre("a[X]"));
}

TEST(AddedVocabularyTest, C10MatchesLeftmostThenLongest) {
  EXPECT_THAT(Cut({Token("<a>", 1), Token("<a><b>", 2), Token("<b>", 3)}, "<a><b><b>"),
              ElementsAre("<a><b>=2", "<b>=3"));
  EXPECT_THAT(Cut({Token("abcd", 1), Token("bc", 2)}, "abce"), ElementsAre("a", "bc=2", "e"));
  EXPECT_THAT(Cut({Token("extra_1", 1), Token("extra_100", 2)}, "extra_10"),
              ElementsAre("extra_1=1", "0"));
}

TEST(AddedVocabularyTest, C10SingleWordNeedsNoWordCharacterBeside) {
  AddedToken token = Token("<m>", 1);
  token.single_word = true;
  EXPECT_THAT(Cut({token}, "<m> .<m>."), ElementsAre("<m>=1", " .", "<m>=1", "."));
  EXPECT_THAT(Cut({token}, "_<m>"), ElementsAre("_<m>"));
  EXPECT_THAT(Cut({token}, "\u00e9<m>"), ElementsAre("\u00e9<m>"));
  EXPECT_THAT(Cut({token}, "<m>\u4e2d"), ElementsAre("<m>\u4e2d"));
}

TEST(AddedVocabularyTest, StripTakesTheWhiteSpaceBeside) {
  AddedToken left = Token("<l>", 1);
  left.lstrip = true;
  AddedToken right = Token("<r>", 2);
  right.rstrip = true;
  EXPECT_THAT(Cut({left, right}, "a \u3000<l> b"), ElementsAre("a", " \u3000<l>=1", " b"));
  EXPECT_THAT(Cut({left, right}, "a <r> \n b"), ElementsAre("a ", "<r> \n =2", "b"));
  // What the first has taken is not there for the second.
  EXPECT_THAT(Cut({left, right}, "<r>  <l>"), ElementsAre("<r>  =2", "<l>=1"));
}

TEST(AddedVocabularyTest, RefusedMatchesUseUpTheirText) {
  AddedToken word = Token("ab", 1);
  word.single_word = true;
  EXPECT_THAT(Cut({word, Token("b", 2)}, "xab"), ElementsAre("xab"));
}

TEST(AddedVocabularyTest, C08SpecialsCanBePlainText) {
  AddedToken special = Token("[S]", 1);
  special.special = true;
  EXPECT_THAT(Cut({special, Token("[T]", 2)}, "[S][T]"), ElementsAre("[S]=1", "[T]=2"));
  EXPECT_THAT(Cut({special, Token("[T]", 2)}, "[S][T]", /*specials_as_text=*/true),
              ElementsAre("[S]", "[T]=2"));
}

TEST(AddedVocabularyTest, OfEqualContentsTheLastCounts) {
  AddedToken again = Token("<m>", 1);
  again.lstrip = true;
  EXPECT_THAT(Cut({Token("<m>", 1), again}, "a <m>"), ElementsAre("a", " <m>=1"));
}

TEST(AddedVocabularyTest, NormalizedTokensAreLookedForNormalised) {
  AddedToken token = Token("Day", 1);
  token.normalized = true;
  NormalizerPass lower;
  lower.lowercase = true;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AddedVocabulary vocabulary,
                              AddedVocabulary::Create({token}, Normalizer({lower})));
  EXPECT_TRUE(vocabulary.raw().empty());
  AddedTokenMatcher::Cursor cursor(vocabulary.normalized(), "day", false);
  AddedTokenMatcher::Segment segment;
  ASSERT_TRUE(cursor.Next(&segment));
  ASSERT_NE(segment.token, nullptr);
  EXPECT_EQ(segment.token->content, "Day");
}

TEST(AddedVocabularyTest, RefusesATokenThatNormalisesToNothing) {
  AddedToken token = Token("\u0301", 1);
  token.normalized = true;
  NormalizerPass strip;
  strip.drop_marks = true;
  EXPECT_THAT(AddedVocabulary::Create({token}, Normalizer({strip})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty once normalised")));
}

}  // namespace
}  // namespace attune
