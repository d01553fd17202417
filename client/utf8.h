// Just enough UTF-8 to refuse bad text before it is sent, and to lay out what comes back.
#ifndef ATTUNE_CLIENT_UTF8_H_
#define ATTUNE_CLIENT_UTF8_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace attune {

struct Utf8Character {
  char32_t code_point = 0;
  size_t bytes = 1;
  // False: the first byte begins no well-formed character; `bytes` is 1.
  bool valid = false;
};

// The character at the start of `text`, which must not be empty. Well-formed is as in Unicode table
// 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
Utf8Character DecodeUtf8(absl::string_view text);

// The offset of the first byte that is not part of well-formed UTF-8, if there is one.
std::optional<size_t> InvalidUtf8Offset(absl::string_view text);

}  // namespace attune

#endif  // ATTUNE_CLIENT_UTF8_H_
