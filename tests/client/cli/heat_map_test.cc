#include "client/cli/heat_map.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/cli/display.h"
#include "gmock/gmock.h"

namespace attune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

std::string Render(const std::vector<std::string>& tokens, const std::vector<float>& weights,
                   const HeatMapStyle& style) {
  return RenderHeatMap(tokens, tokens, weights, style);
}

std::vector<float> Uniform(size_t n) {
  return std::vector<float>(n * n, 1.0f / static_cast<float>(n));
}

TEST(HeatMapTest, RowsAreFromAndColumnsAreTo) {
  // "cat" attends only to "the"; transposed, "the" would attend to "cat".
  const std::vector<float> weights = {1, 0,  //
                                      1, 0};
  EXPECT_EQ(Render({"the", "cat"}, weights, {.width = 80}),
            "              t c\n"
            "              h a\n"
            "   from \\ to  e t\n"
            "         the  ██    1.00 the\n"
            "         cat  ██    1.00 the\n"
            "\n"
            "░░ 0.20  ▒▒ 0.40  ▓▓ 0.60  ██ 0.80+\n"
            "Each row ends with its largest value.\n");
}

TEST(HeatMapTest, ShadesByFifthsOfTheLargestWeight) {
  const std::vector<float> weights = {0.05f, 0.15f, 0.25f,  //
                                      0.35f, 0.5f,  0.15f,  //
                                      0.0f,  0.1f,  0.0999f};
  const std::vector<std::string> lines = Lines(Render({"a", "b", "c"}, weights, {}));
  EXPECT_THAT(lines[1], HasSubstr("a    ░░▒▒  0.25 c"));
  EXPECT_THAT(lines[2], HasSubstr("b  ▓▓██░░  0.50 b"));
  EXPECT_THAT(lines[3], HasSubstr("c    ░░    0.10 b"));
}

TEST(HeatMapTest, ATwentyTokenPictureFitsEightyColumns) {
  ASSERT_GE(MaxHeatMapTokens(80), 20);
  const std::vector<std::string> tokens(20, "internationalisation");
  const std::string picture = Render(tokens, Uniform(20), {.width = 80});
  EXPECT_THAT(picture, AllOf(HasSubstr("from \\ to"), HasSubstr("internation…")));
  for (const std::string& line : Lines(picture)) EXPECT_LE(DisplayWidth(line), 80) << line;
}

TEST(HeatMapTest, ListsTheThreeStrongestWhereAPictureDoesNotFit) {
  const size_t n = static_cast<size_t>(MaxHeatMapTokens(80)) + 1;
  std::vector<std::string> tokens(n, "x");
  tokens[3] = "key";
  std::vector<float> weights(n * n, 0.0f);
  weights[0 * n + 3] = 0.5f;
  weights[0 * n + 7] = 0.3f;
  weights[0 * n + 1] = 0.1f;
  const std::string list = Render(tokens, weights, {.width = 80});
  EXPECT_THAT(list, Not(HasSubstr("from \\ to")));
  EXPECT_THAT(Lines(list)[2], HasSubstr("0.50 3:key 0.30 7:x 0.10 1:x"));
  for (const std::string& line : Lines(list)) EXPECT_LE(DisplayWidth(line), 80) << line;
}

TEST(HeatMapTest, WideTokensKeepTheGridAligned) {
  const std::string picture = Render({"没", "吃"}, std::vector<float>{1, 0, 0, 1}, {});
  EXPECT_EQ(Lines(picture)[0], "   from \\ to  没吃");
  EXPECT_EQ(Lines(picture)[1], "          没  ██    1.00 没");
}

TEST(HeatMapTest, ControlCharactersInTokensAreEscaped) {
  const std::string picture = Render({"\x1b[2J"}, std::vector<float>{1}, {});
  EXPECT_THAT(picture, Not(HasSubstr("\x1b")));
}

TEST(HeatMapTest, ColorsOnlyWhenAsked) {
  const std::vector<float> weights = {1};
  EXPECT_THAT(Render({"a"}, weights, {.color = true}), HasSubstr("\x1b[48;5;226m"));
  EXPECT_THAT(Render({"a"}, weights, {.color = false}), Not(HasSubstr("\x1b")));
}

TEST(HeatMapTest, RowsAndColumnsMayDiffer) {
  const std::string picture =
      RenderHeatMap({"cat"}, {"a", "b", "c"}, std::vector<float>{0, 1, 0}, {});
  EXPECT_EQ(Lines(picture)[0], "   from \\ to  a b c");
  EXPECT_EQ(Lines(picture)[1], "         cat    ██    1.00 b");
}

TEST(HeatMapTest, TheScaleOfNegativeValuesBeginsAtTheLowest) {
  const std::vector<float> scores = {-4, 1, -1, 0};
  const std::string picture = Render({"a", "b"}, scores, {});
  EXPECT_EQ(Lines(picture)[1], "           a    ██  1.00 b");
  EXPECT_EQ(Lines(picture)[2], "           b  ▓▓██  0.00 b");
  EXPECT_THAT(picture, HasSubstr("   -4.00  ░░ -3.00"));
}

TEST(HeatMapTest, LeavesOutWhatWasNotSent) {
  const float absent = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Lines(Render({"a", "b"}, {absent, 0.5f, absent, absent}, {}))[1],
            "           a    ██  0.50 b");
}

TEST(HeatMapTest, DrawsAnAllZeroMatrixBlank) {
  EXPECT_THAT(Render({"a"}, std::vector<float>{0}, {}), HasSubstr("a      0.00 a"));
}

}  // namespace
}  // namespace attune::cli
