#include "engine/text/utf8.h"

#include <cstring>

namespace attune {
namespace {

unsigned char At(absl::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

// Length of the well-formed character at text[at], or 0.
size_t WellFormedLength(absl::string_view text, size_t at) {
  const unsigned char lead = At(text, at);
  if (lead < 0x80) return 1;
  // The second byte carries every restriction beyond "is a continuation".
  size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;   // overlong
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;   // overlong
    if (lead == 0xF4) high = 0x8F;  // above U+10FFFF
  } else {
    return 0;
  }
  if (text.size() - at < length) return 0;
  if (At(text, at + 1) < low || At(text, at + 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!IsUtf8Continuation(text[at + i])) return 0;
  }
  return length;
}

bool IsAscii8(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return (word & 0x8080808080808080u) == 0;
}

}  // namespace

size_t FindInvalidUtf8(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= 8 && IsAscii8(text.data() + at)) {
      at += 8;
      continue;
    }
    const size_t length = WellFormedLength(text, at);
    if (length == 0) return at;
    at += length;
  }
  return absl::string_view::npos;
}

DecodedChar DecodeUtf8(absl::string_view text, size_t at) {
  const char32_t lead = At(text, at);
  const auto tail = [text, at](size_t i) -> char32_t { return At(text, at + i) & 0x3Fu; };
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1Fu) << 6 | tail(1), 2};
  if (lead < 0xF0) return {(lead & 0x0Fu) << 12 | tail(1) << 6 | tail(2), 3};
  return {(lead & 0x07u) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}

DecodedChar DecodeUtf8Before(absl::string_view text, size_t end) {
  size_t begin = end - 1;
  while (IsUtf8Continuation(text[begin])) --begin;
  return DecodeUtf8(text, begin);
}

size_t AppendUtf8(char32_t code_point, std::string* out) {
  const auto append = [out](char32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    append(code_point);
    return 1;
  }
  if (code_point < 0x800) {
    append(0xC0 | code_point >> 6);
    append(0x80 | (code_point & 0x3F));
    return 2;
  }
  if (code_point < 0x10000) {
    append(0xE0 | code_point >> 12);
    append(0x80 | (code_point >> 6 & 0x3F));
    append(0x80 | (code_point & 0x3F));
    return 3;
  }
  append(0xF0 | code_point >> 18);
  append(0x80 | (code_point >> 12 & 0x3F));
  append(0x80 | (code_point >> 6 & 0x3F));
  append(0x80 | (code_point & 0x3F));
  return 4;
}

int64_t CountCodePoints(absl::string_view text) {
  int64_t count = 0;
  for (const char byte : text) count += IsUtf8Continuation(byte) ? 0 : 1;
  return count;
}

}  // namespace attune
