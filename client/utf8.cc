#include "client/utf8.h"

#include <cstdint>

namespace attune {
namespace {

struct Lead {
  size_t bytes;  // 0: not a lead byte
  uint8_t payload_mask;
  // The range of the second byte is what excludes overlong forms, surrogates and > U+10FFFF.
  uint8_t second_min;
  uint8_t second_max;
};

Lead ClassifyLead(uint8_t byte) {
  if (byte < 0x80) return {1, 0x7F, 0, 0};
  if (byte < 0xC2) return {0, 0, 0, 0};
  if (byte < 0xE0) return {2, 0x1F, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0x0F, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x0F, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x0F, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x07, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x07, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x07, 0x80, 0x8F};
  return {0, 0, 0, 0};
}

}  // namespace

Utf8Character DecodeUtf8(absl::string_view text) {
  const auto byte_at = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = ClassifyLead(byte_at(0));
  if (lead.bytes == 0 || text.size() < lead.bytes) return {};
  char32_t code_point = byte_at(0) & lead.payload_mask;
  for (size_t i = 1; i < lead.bytes; ++i) {
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte_at(i) < min || byte_at(i) > max) return {};
    code_point = (code_point << 6) | (byte_at(i) & 0x3Fu);
  }
  return {.code_point = code_point, .bytes = lead.bytes, .valid = true};
}

std::optional<size_t> InvalidUtf8Offset(absl::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const Utf8Character character = DecodeUtf8(text.substr(offset));
    if (!character.valid) return offset;
    offset += character.bytes;
  }
  return std::nullopt;
}

}  // namespace attune
