#include "client/cli/index_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::IsOkAndHolds;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(IndexTextTest, ReadsNumbersAndRanges) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const IndexSelection selection, ParseIndices("0,-1,4:6,-2:,:3"));
  EXPECT_THAT(selection.numbers, ElementsAre(0, -1));
  ASSERT_EQ(selection.ranges.size(), 3u);
  EXPECT_EQ(selection.ranges[0].ShortDebugString(), "begin: 4 end: 6");
  EXPECT_EQ(selection.ranges[1].ShortDebugString(), "begin: -2");
  EXPECT_EQ(selection.ranges[2].ShortDebugString(), "end: 3");
}

TEST(IndexTextTest, SaysWhatASelectionLooksLike) {
  for (const char* text : {"", "x", "1,", "1:2:3", ":", "1;2", "1.5", "99999999999"}) {
    EXPECT_THAT(ParseIndices(text).status(),
                StatusIs(kInvalid, HasSubstr("is not numbers and ranges such as")))
        << text;
  }
}

TEST(IndexTextTest, ReadsARange) {
  EXPECT_THAT(ParseRange("4:6"), IsOkAndHolds(Pair(4u, 6u)));
  EXPECT_THAT(ParseRange("4"), IsOkAndHolds(Pair(4u, 5u)));
  for (const char* text : {"", ":", "4:", ":6", "-1:2", "6:4", "4:4", "1:2:3", "4294967295"}) {
    EXPECT_THAT(ParseRange(text).status(), StatusIs(kInvalid, HasSubstr("is not a range"))) << text;
  }
}

TEST(IndexTextTest, ReadsAWindow) {
  EXPECT_THAT(ParseWindow("2:0"), IsOkAndHolds(Pair(2u, 0u)));
  for (const char* text : {"", "2", "2:", ":1", "-1:1", "1:2:3"}) {
    EXPECT_THAT(ParseWindow(text).status(), StatusIs(kInvalid, HasSubstr("is not a window")))
        << text;
  }
}

TEST(IndexTextTest, ReadsNumbers) {
  EXPECT_THAT(ParseNumbers("3,0"), IsOkAndHolds(ElementsAre(3u, 0u)));
  for (const char* text : {"", "3,", "-1", "a"}) {
    EXPECT_THAT(ParseNumbers(text).status(), StatusIs(kInvalid, HasSubstr("is not numbers")))
        << text;
  }
}

TEST(IndexTextTest, ReadsHeadsAndLayersToAblate) {
  const struct {
    std::string text;
    std::string ablation;
  } cases[] = {{"2/5", "layer: 2 head: 5 mode: MODE_ZERO"},
               {"-1/-2=zero", "layer: -1 head: -2 mode: MODE_ZERO"},
               {"0", "mode: MODE_ZERO"},
               {"3=uniform", "layer: 3 mode: MODE_UNIFORM"}};
  for (const auto& c : cases) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::HeadAblation ablation, ParseAblation(c.text));
    EXPECT_EQ(ablation.ShortDebugString(), c.ablation) << c.text;
  }
  for (const char* text : {"", "/", "1/", "/1", "1/2/3", "1=", "1=off", "one"}) {
    EXPECT_THAT(ParseAblation(text).status(), StatusIs(kInvalid, HasSubstr("is not a head")))
        << text;
  }
}

}  // namespace
}  // namespace attune::cli
