#include "client/cli/display.h"

#include "gmock/gmock.h"

namespace attune::cli {
namespace {

using ::testing::ElementsAre;

TEST(DisplayTest, MakesControlCharactersVisible) {
  EXPECT_EQ(Printable("a\x1b[31mb\n\t\r\x7f"), "a\\u{1b}[31mb\\n\\t\\r\\u{7f}");
  EXPECT_EQ(Printable("\xC2\x9B"), "\\u{9b}");        // C1: CSI in one character
  EXPECT_EQ(Printable("\xE2\x80\xAE"), "\\u{202e}");  // right-to-left override
  EXPECT_EQ(Printable(std::string("\0", 1)), "\\u{0}");
  EXPECT_EQ(Printable("\xFFok"), "\\xffok");
  EXPECT_EQ(Printable("back\\slash"), "back\\\\slash");
  EXPECT_EQ(Printable("没吃饭 é"), "没吃饭 é");
}

TEST(DisplayTest, MessagesKeepTheirLines) {
  EXPECT_EQ(PrintableMessage("one\ntwo\\ \x1b"), "one\ntwo\\ \\u{1b}");
}

TEST(DisplayTest, MeasuresColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("没吃饭"), 6);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1);         // e and a combining accent
  EXPECT_EQ(DisplayWidth("\xF0\x9F\x91\x8D"), 2);  // thumbs up
}

TEST(DisplayTest, CutsOnCharacterBordersWithinTheWidth) {
  EXPECT_EQ(FitWidth("abcdef", 6), "abcdef");
  EXPECT_EQ(FitWidth("abcdef", 5), "abcd…");
  EXPECT_EQ(FitWidth("没吃饭", 6), "没吃饭");
  EXPECT_EQ(FitWidth("没吃饭", 5), "没吃…");
  EXPECT_EQ(FitWidth("没吃饭", 4), "没…");  // half a character does not fit
  EXPECT_EQ(FitWidth("abc", 1), "…");
  EXPECT_EQ(FitWidth("abc", 0), "");
}

TEST(DisplayTest, PadsByColumns) {
  EXPECT_EQ(PadRight("没", 4), "没  ");
  EXPECT_EQ(PadLeft("没", 4), "  没");
  EXPECT_EQ(PadLeft("toolong", 3), "toolong");
}

TEST(DisplayTest, KeepsCombiningMarksWithTheirCharacter) {
  EXPECT_THAT(SplitCells("ae\xCC\x81没"), ElementsAre("a", "e\xCC\x81", "没"));
}

}  // namespace
}  // namespace attune::cli
