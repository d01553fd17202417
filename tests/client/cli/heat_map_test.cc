#include "client/cli/heat_map.h"

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

std::vector<float> Uniform(size_t n) {
  return std::vector<float>(n * n, 1.0f / static_cast<float>(n));
}

TEST(HeatMapTest, RowsAreFromAndColumnsAreTo) {
  // "cat" attends only to "the"; transposed, "the" would attend to "cat".
  const std::vector<float> weights = {1, 0,  //
                                      1, 0};
  EXPECT_EQ(RenderHeatMap({"the", "cat"}, weights, {.width = 80}),
            "              t c\n"
            "              h a\n"
            "   from \\ to  e t\n"
            "         the  ██    1.00 the\n"
            "         cat  ██    1.00 the\n"
            "\n"
            "░░ 0.20  ▒▒ 0.40  ▓▓ 0.60  ██ 0.80+\n"
            "Each row ends with its largest weight.\n");
}

TEST(HeatMapTest, ShadesByFifthsOfTheLargestWeight) {
  const std::vector<float> weights = {0.05f, 0.15f, 0.25f,  //
                                      0.35f, 0.5f,  0.15f,  //
                                      0.0f,  0.1f,  0.0999f};
  const std::vector<std::string> lines = Lines(RenderHeatMap({"a", "b", "c"}, weights, {}));
  EXPECT_THAT(lines[1], HasSubstr("a    ░░▒▒  0.25 c"));
  EXPECT_THAT(lines[2], HasSubstr("b  ▓▓██░░  0.50 b"));
  EXPECT_THAT(lines[3], HasSubstr("c    ░░    0.10 b"));
}

TEST(HeatMapTest, ATwentyTokenPictureFitsEightyColumns) {
  ASSERT_GE(MaxHeatMapTokens(80), 20);
  const std::vector<std::string> tokens(20, "internationalisation");
  const std::string picture = RenderHeatMap(tokens, Uniform(20), {.width = 80});
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
  const std::string list = RenderHeatMap(tokens, weights, {.width = 80});
  EXPECT_THAT(list, Not(HasSubstr("from \\ to")));
  EXPECT_THAT(Lines(list)[2], HasSubstr("0.50 3:key 0.30 7:x 0.10 1:x"));
  for (const std::string& line : Lines(list)) EXPECT_LE(DisplayWidth(line), 80) << line;
}

TEST(HeatMapTest, WideTokensKeepTheGridAligned) {
  const std::string picture = RenderHeatMap({"没", "吃"}, std::vector<float>{1, 0, 0, 1}, {});
  EXPECT_EQ(Lines(picture)[0], "   from \\ to  没吃");
  EXPECT_EQ(Lines(picture)[1], "          没  ██    1.00 没");
}

TEST(HeatMapTest, ControlCharactersInTokensAreEscaped) {
  const std::string picture = RenderHeatMap({"\x1b[2J"}, std::vector<float>{1}, {});
  EXPECT_THAT(picture, Not(HasSubstr("\x1b")));
}

TEST(HeatMapTest, ColorsOnlyWhenAsked) {
  const std::vector<float> weights = {1};
  EXPECT_THAT(RenderHeatMap({"a"}, weights, {.color = true}), HasSubstr("\x1b[48;5;226m"));
  EXPECT_THAT(RenderHeatMap({"a"}, weights, {.color = false}), Not(HasSubstr("\x1b")));
}

TEST(HeatMapTest, DrawsAnAllZeroMatrixBlank) {
  EXPECT_THAT(RenderHeatMap({"a"}, std::vector<float>{0}, {}), HasSubstr("a      0.00 a"));
}

}  // namespace
}  // namespace attune::cli
