#include "engine/text/pre_tokenizer.h"

namespace attune {

PreTokenizer::PreTokenizer(PreTokenizerKind kind) : kind_(kind) {
  for (unsigned char c = 0; c < ascii_.size(); ++c) ascii_[c] = RoleOf(c);
}

PreTokenizer::Role PreTokenizer::RoleOf(char32_t code_point) const {
  if (kind_ == PreTokenizerKind::kNone) return kWordRole;
  const uint16_t classes = unicode_.classes(code_point);
  if ((classes & kWhiteSpaceChar) != 0) return kBreak;
  if (kind_ == PreTokenizerKind::kBert) {
    return (classes & kPunctuationChar) != 0 ? kAlone : kWordRole;
  }
  if (kind_ == PreTokenizerKind::kWhitespace) {
    return (classes & kWordChar) != 0 ? kWordRole : kSymbolRole;
  }
  return kWordRole;
}

}  // namespace attune
