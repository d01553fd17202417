// What the reference tokenizer knows about each code point: its character classes, lower case and
// canonical decomposition. The data is generated from the reference itself (unicode_tables.inc),
// because it mixes several versions of Unicode.
#ifndef ATTUNE_ENGINE_TEXT_UNICODE_PROPERTIES_H_
#define ATTUNE_ENGINE_TEXT_UNICODE_PROPERTIES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace attune {

// Classes of a code point, as a bit set.
enum CharClass : uint16_t {
  kCleanTextRemoved = 1 << 0,  // BertNormalizer's clean_text drops it
  kCleanTextSpace = 1 << 1,    // ... turns it into a space
  kChineseChar = 1 << 2,       // BertNormalizer puts spaces around it
  kNonspacingMark = 1 << 3,    // Mn: BertNormalizer's strip_accents drops it
  kMark = 1 << 4,              // M*: StripAccents drops it
  kWhiteSpaceChar = 1 << 5,
  kWordChar = 1 << 6,  // \w
  kPunctuationChar = 1 << 7,
  kHasLowercase = 1 << 8,      // Lowercase() changes it
  kHasDecomposition = 1 << 9,  // Decompose() changes it
  kCombining = 1 << 10,        // its canonical combining class is not 0
};

// Immutable and thread-safe.
class UnicodeProperties {
 public:
  // The tables, built at the first call; alive until the process ends.
  static const UnicodeProperties& Get();

  uint16_t classes(char32_t code_point) const {
    return pages_[static_cast<size_t>(page_of_[code_point >> 8]) << 8 | (code_point & 0xFF)];
  }
  bool Has(char32_t code_point, CharClass char_class) const {
    return (classes(code_point) & char_class) != 0;
  }

  // Full lower case without context rules, 1 to 3 code points. Needs kHasLowercase.
  absl::Span<const char32_t> Lowercase(char32_t code_point) const;

  // Full canonical decomposition, 1 to 4 code points, in `buffer` or in the tables. Needs
  // kHasDecomposition.
  absl::Span<const char32_t> Decompose(char32_t code_point, std::array<char32_t, 3>& buffer) const;

  // Orders marks as their canonical combining classes do; 0 for class 0.
  uint8_t CombiningRank(char32_t code_point) const;

 private:
  UnicodeProperties();

  // Two levels: code_point >> 8 chooses one of the distinct pages of 256 class sets.
  std::array<uint16_t, 0x1100> page_of_ = {};
  std::vector<uint16_t> pages_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_UNICODE_PROPERTIES_H_
