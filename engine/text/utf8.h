// UTF-8, the only encoding inside the engine.
#ifndef ATTUNE_ENGINE_TEXT_UTF8_H_
#define ATTUNE_ENGINE_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace attune {

// The offset of the first byte that does not belong to a well-formed character (Unicode 15, table
// 3-7: no surrogates, no overlong forms, nothing above U+10FFFF), or npos if all of `text` is
// valid.
size_t FindInvalidUtf8(absl::string_view text);

// Bytes of the character that starts with `lead`. `lead` must start a valid character.
inline size_t Utf8Length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

// Whether `byte` is in the middle of a character.
inline bool IsUtf8Continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

struct DecodedChar {
  char32_t code_point;
  size_t length;  // bytes
};

// The character at text[at]. `text` must be valid from there on.
DecodedChar DecodeUtf8(absl::string_view text, size_t at);

// The character that ends right before text[end]. end > 0; `text` must be valid.
DecodedChar DecodeUtf8Before(absl::string_view text, size_t end);

// Appends the UTF-8 form of a scalar value and returns its length in bytes.
size_t AppendUtf8(char32_t code_point, std::string* out);

// Number of characters in valid `text`.
int64_t CountCodePoints(absl::string_view text);

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_UTF8_H_
