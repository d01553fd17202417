// The UTF-8 validator, against decoding: what it accepts must survive a round trip, and the byte it
// complains about must not begin any character.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/check.h"
#include "engine/text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t invalid = attune::FindInvalidUtf8(text);
  const absl::string_view valid = text.substr(0, invalid);
  std::string again;
  int64_t characters = 0;
  for (size_t at = 0; at < valid.size(); ++characters) {
    const attune::DecodedChar c = attune::DecodeUtf8(valid, at);
    ATTUNE_CHECK(c.code_point < 0x110000 && (c.code_point < 0xD800 || c.code_point > 0xDFFF));
    ATTUNE_CHECK(c.length == attune::Utf8Length(valid[at]));
    at += c.length;
    ATTUNE_CHECK(attune::DecodeUtf8Before(valid, at).code_point == c.code_point);
    attune::AppendUtf8(c.code_point, &again);
  }
  ATTUNE_CHECK(again == valid);
  ATTUNE_CHECK(characters == attune::CountCodePoints(valid));
  if (invalid == absl::string_view::npos) return 0;
  ATTUNE_CHECK(invalid < size);
  for (size_t length = 1; length <= 4 && invalid + length <= size; ++length) {
    ATTUNE_CHECK(attune::FindInvalidUtf8(text.substr(invalid, length)) == 0);
  }
  return 0;
}
