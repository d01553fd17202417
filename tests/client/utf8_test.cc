#include "client/utf8.h"

#include <string>

#include "gmock/gmock.h"

namespace attune {
namespace {

using ::testing::Optional;

TEST(Utf8Test, DecodesTheFirstAndLastCharacterOfEachLength) {
  const struct {
    std::string text;
    char32_t code_point;
  } cases[] = {
      {std::string("\0", 1), 0},     {"\x7F", 0x7F},           {"\xC2\x80", 0x80},
      {"\xDF\xBF", 0x7FF},           {"\xE0\xA0\x80", 0x800},  {"\xED\x9F\xBF", 0xD7FF},
      {"\xEE\x80\x80", 0xE000},      {"\xEF\xBF\xBF", 0xFFFF}, {"\xF0\x90\x80\x80", 0x10000},
      {"\xF4\x8F\xBF\xBF", 0x10FFFF}};
  for (const auto& c : cases) {
    const Utf8Character decoded = DecodeUtf8(c.text);
    EXPECT_TRUE(decoded.valid);
    EXPECT_EQ(decoded.code_point, c.code_point);
    EXPECT_EQ(decoded.bytes, c.text.size());
  }
}

TEST(Utf8Test, FindsWhatIsNotWellFormed) {
  const std::string cases[] = {
      "\x80",              // continuation without a lead
      "\xC0\x80",          // overlong NUL
      "\xE0\x9F\xBF",      // overlong
      "\xED\xA0\x80",      // surrogate
      "\xF0\x8F\xBF\xBF",  // overlong
      "\xF4\x90\x80\x80",  // above U+10FFFF
      "\xF5\x80\x80\x80",
      "\xFF",
      "\xE2\x82",  // cut off
      "\xE2\x28\xA1",
  };
  for (const std::string& bad : cases) {
    EXPECT_THAT(InvalidUtf8Offset("ab" + bad), Optional(2u)) << ::testing::PrintToString(bad);
    EXPECT_FALSE(DecodeUtf8(bad).valid);
  }
}

TEST(Utf8Test, AcceptsMixedText) {
  EXPECT_EQ(InvalidUtf8Offset(""), std::nullopt);
  EXPECT_EQ(InvalidUtf8Offset(std::string("a\0b 没吃饭 \xF0\x9F\x91\x8D", 18)), std::nullopt);
}

}  // namespace
}  // namespace attune
