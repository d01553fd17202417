#include "engine/text/unicode_properties.h"

#include <array>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::ElementsAre;

// Sizes that the reference's sets are known to have, so that a table that lost a line is noticed.
TEST(UnicodePropertiesTest, SetsHaveTheReferencesSizes) {
  const UnicodeProperties& unicode = UnicodeProperties::Get();
  const auto count = [&unicode](CharClass char_class) {
    int members = 0;
    for (char32_t c = 0; c < 0x110000; ++c) members += unicode.Has(c, char_class) ? 1 : 0;
    return members;
  };
  EXPECT_EQ(count(kCleanTextRemoved), 137681);
  EXPECT_EQ(count(kCleanTextSpace), 21);
  EXPECT_EQ(count(kPunctuationChar), 726);
  EXPECT_EQ(count(kWhiteSpaceChar), 25);
  EXPECT_EQ(count(kHasDecomposition), 2060 + 11172);  // and the Hangul syllables
}

TEST(UnicodePropertiesTest, C04UnassignedCharactersAreKept) {
  EXPECT_FALSE(UnicodeProperties::Get().Has(0x378, kCleanTextRemoved));
  EXPECT_TRUE(UnicodeProperties::Get().Has(0xE000, kCleanTextRemoved));
  EXPECT_TRUE(UnicodeProperties::Get().Has(0x10FFFD, kCleanTextRemoved));
}

TEST(UnicodePropertiesTest, LowercasesWithoutContext) {
  const UnicodeProperties& unicode = UnicodeProperties::Get();
  EXPECT_THAT(unicode.Lowercase(U'A'), ElementsAre(U'a'));
  EXPECT_THAT(unicode.Lowercase(U'\u03a3'), ElementsAre(U'\u03c3'));        // never final sigma
  EXPECT_THAT(unicode.Lowercase(U'\u0130'), ElementsAre(U'i', U'\u0307'));  // two characters
  EXPECT_FALSE(unicode.Has(U'\u00df', kHasLowercase));
}

TEST(UnicodePropertiesTest, DecomposesAllTheWay) {
  const UnicodeProperties& unicode = UnicodeProperties::Get();
  std::array<char32_t, 3> buffer;
  EXPECT_THAT(unicode.Decompose(U'\u00e9', buffer), ElementsAre(U'e', U'\u0301'));
  // Through U+1F82 -> U+1F02 -> U+1F00 -> U+03B1 to four characters.
  EXPECT_THAT(unicode.Decompose(U'\u1f82', buffer),
              ElementsAre(U'\u03b1', U'\u0313', U'\u0300', U'\u0345'));
}

TEST(UnicodePropertiesTest, C03DecomposesHangulByArithmetic) {
  const UnicodeProperties& unicode = UnicodeProperties::Get();
  std::array<char32_t, 3> buffer;
  EXPECT_THAT(unicode.Decompose(U'\uac00', buffer), ElementsAre(U'\u1100', U'\u1161'));
  EXPECT_THAT(unicode.Decompose(U'\uac01', buffer), ElementsAre(U'\u1100', U'\u1161', U'\u11a8'));
  EXPECT_THAT(unicode.Decompose(U'\ud7a3', buffer), ElementsAre(U'\u1112', U'\u1175', U'\u11c2'));
}

TEST(UnicodePropertiesTest, RanksMarksInTheOrderOfTheirClasses) {
  const UnicodeProperties& unicode = UnicodeProperties::Get();
  EXPECT_EQ(unicode.CombiningRank(U'a'), 0);
  EXPECT_EQ(unicode.CombiningRank(U'\u0334'), 1);                                 // class 1
  EXPECT_LT(unicode.CombiningRank(U'\u0323'), unicode.CombiningRank(U'\u0301'));  // 220 < 230
  EXPECT_LT(unicode.CombiningRank(U'\u0301'), unicode.CombiningRank(U'\u0345'));  // 230 < 240
  EXPECT_EQ(unicode.CombiningRank(U'\u0300'), unicode.CombiningRank(U'\u0301'));
}

}  // namespace
}  // namespace attune
