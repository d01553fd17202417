#include "client/cli/sample_texts.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

TEST(SampleTextsTest, ParsesRangesAndSingleNumbers) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const WordRange range, ParseWordRange("3-12"));
  EXPECT_EQ(range.min, 3);
  EXPECT_EQ(range.max, 12);
  EXPECT_FALSE(range.mixed);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const WordRange single, ParseWordRange("7"));
  EXPECT_EQ(single.min, 7);
  EXPECT_EQ(single.max, 7);
}

TEST(SampleTextsTest, RefusesWhatIsNoRange) {
  for (const char* text : {"", "-", "0-3", "5-4", "a-b", "1-10001", "1-2-3", "-3"}) {
    EXPECT_THAT(ParseWordRange(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 <= MIN <= MAX")))
        << text;
  }
}

TEST(SampleTextsTest, HasEveryLengthOfTheRangeAndNoOther) {
  std::mt19937_64 random(1);
  std::set<size_t> lengths;
  for (int i = 0; i < 200; ++i) {
    const std::vector<std::string> words =
        absl::StrSplit(SampleText({.min = 2, .max = 5}, random), ' ');
    lengths.insert(words.size());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{2, 3, 4, 5}));
}

TEST(SampleTextsTest, MixedTextsAreMostlyShortAndSometimesLong) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const WordRange mixed, ParseWordRange("mixed"));
  std::mt19937_64 random(1);
  std::vector<size_t> lengths;
  for (int i = 0; i < 1'001; ++i) {
    const std::vector<std::string> words = absl::StrSplit(SampleText(mixed, random), ' ');
    lengths.push_back(words.size());
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 2u);
  EXPECT_LE(lengths.back(), 380u);
  // The median of 1,001 draws has a standard error of 18 * 0.9 * sqrt(pi / 2 / 1001) = 0.64 words.
  EXPECT_NEAR(lengths[500], 18, 4);
  EXPECT_GT(lengths.back(), 100u);
}

TEST(SampleTextsTest, IsTheSameForTheSameSeed) {
  std::mt19937_64 first(42), second(42);
  EXPECT_EQ(SampleText({}, first), SampleText({}, second));
}

}  // namespace
}  // namespace attune::cli
