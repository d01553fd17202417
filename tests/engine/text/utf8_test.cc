#include "engine/text/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace attune {
namespace {

constexpr size_t kValid = absl::string_view::npos;

std::string Encode(char32_t code_point) {
  std::string bytes;
  AppendUtf8(code_point, &bytes);
  return bytes;
}

TEST(Utf8Test, AcceptsTheFirstAndLastCharacterOfEveryLength) {
  for (const char32_t c :
       {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    EXPECT_EQ(FindInvalidUtf8(Encode(c)), kValid) << static_cast<uint32_t>(c);
  }
}

TEST(Utf8Test, C56PointsAtTheFirstBadByte) {
  const struct {
    std::string text;
    size_t at;
  } kCases[] = {
      {"a\xED\xA0\x80"
       "b",
       1},                           // surrogate
      {"\xC0\x80", 0},               // overlong, two bytes
      {"\xC1\xBF", 0},               // overlong, two bytes
      {"\xE0\x9F\xBF", 0},           // overlong, three bytes
      {"\xF0\x8F\xBF\xBF", 0},       // overlong, four bytes
      {"\xF4\x90\x80\x80", 0},       // above U+10FFFF
      {"\xF5\x80\x80\x80", 0},       // above U+10FFFF
      {"abc\xE2\x82", 3},            // cut off
      {"\xFF", 0},                   // never a byte of UTF-8
      {"12345678\x80", 8},           // a continuation alone, after the eight-byte steps
      {"1234567\xC3", 7},            // cut off inside an eight-byte step
      {"\xE4\xB8\xAD\xE4\xB8z", 3},  // a letter where a continuation belongs
      {"\xF0\x9F\x99\x82\xF0\x9F\x99z", 4},
  };
  for (const auto& test : kCases) EXPECT_EQ(FindInvalidUtf8(test.text), test.at) << test.text;
}

TEST(Utf8Test, DecodesWhatItEncodesInBothDirections) {
  for (char32_t c = 0; c < 0x110000; c += 7) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text = "x";
    AppendUtf8(c, &text);
    const DecodedChar forward = DecodeUtf8(text, 1);
    ASSERT_EQ(forward.code_point, c);
    ASSERT_EQ(forward.length, text.size() - 1);
    ASSERT_EQ(Utf8Length(text[1]), forward.length);
    ASSERT_EQ(DecodeUtf8Before(text, text.size()).code_point, c);
  }
}

TEST(Utf8Test, CountsCharactersNotBytes) {
  EXPECT_EQ(CountCodePoints(""), 0);
  EXPECT_EQ(CountCodePoints("a\u00e9\u4e2d\U0001f642"), 4);
}

}  // namespace
}  // namespace attune
