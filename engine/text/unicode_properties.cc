#include "engine/text/unicode_properties.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

#include "engine/base/check.h"

namespace attune {
namespace {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// `to` ends at the first zero.
struct CodePointMapping {
  char32_t from;
  char32_t to[4];
};

struct CombiningRank {
  char32_t first;
  char32_t last;
  uint8_t rank;
};

#include "engine/text/unicode_tables.inc"

constexpr char32_t kCodePoints = 0x110000;
constexpr size_t kPageSize = 256;

// Hangul syllables decompose by arithmetic (The Unicode Standard, section 3.12).
constexpr char32_t kHangulFirst = 0xAC00;
constexpr char32_t kHangulLast = 0xD7A3;
constexpr char32_t kHangulLeading = 0x1100;
constexpr char32_t kHangulVowel = 0x1161;
constexpr char32_t kHangulTrailing = 0x11A7;
constexpr char32_t kHangulVowels = 21;
constexpr char32_t kHangulTrailings = 28;

void Mark(char32_t first, char32_t last, CharClass char_class, std::vector<uint16_t>* classes) {
  for (char32_t c = first; c <= last; ++c) (*classes)[c] |= char_class;
}

void MarkAll(absl::Span<const CodePointRange> ranges, CharClass char_class,
             std::vector<uint16_t>* classes) {
  for (const CodePointRange& range : ranges) Mark(range.first, range.last, char_class, classes);
}

void MarkAll(absl::Span<const CodePointMapping> mappings, CharClass char_class,
             std::vector<uint16_t>* classes) {
  for (const CodePointMapping& mapping : mappings) {
    Mark(mapping.from, mapping.from, char_class, classes);
  }
}

absl::Span<const char32_t> Find(absl::Span<const CodePointMapping> mappings, char32_t code_point) {
  const auto it = std::lower_bound(
      mappings.begin(), mappings.end(), code_point,
      [](const CodePointMapping& mapping, char32_t value) { return mapping.from < value; });
  ATTUNE_DCHECK(it != mappings.end() && it->from == code_point);
  const auto end = std::find(std::begin(it->to), std::end(it->to), U'\0');
  return {it->to, static_cast<size_t>(end - std::begin(it->to))};
}

}  // namespace

const UnicodeProperties& UnicodeProperties::Get() {
  static const auto* const properties = new UnicodeProperties();
  return *properties;
}

UnicodeProperties::UnicodeProperties() {
  std::vector<uint16_t> classes(kCodePoints);
  MarkAll(kCleanTextRemoves, kCleanTextRemoved, &classes);
  MarkAll(kCleanTextSpaces, kCleanTextSpace, &classes);
  MarkAll(kChineseChars, kChineseChar, &classes);
  MarkAll(kNonspacingMarks, kNonspacingMark, &classes);
  MarkAll(kMarks, kMark, &classes);
  MarkAll(kWhiteSpace, kWhiteSpaceChar, &classes);
  MarkAll(kWordChars, kWordChar, &classes);
  MarkAll(kPunctuation, kPunctuationChar, &classes);
  MarkAll(kLowercase, kHasLowercase, &classes);
  MarkAll(kDecompositions, kHasDecomposition, &classes);
  Mark(kHangulFirst, kHangulLast, kHasDecomposition, &classes);
  for (const auto& range : kCombiningRanks) Mark(range.first, range.last, kCombining, &classes);

  std::map<std::vector<uint16_t>, uint16_t> known;
  for (size_t page = 0; page < page_of_.size(); ++page) {
    const auto begin = classes.begin() + static_cast<std::ptrdiff_t>(page * kPageSize);
    const auto [it, is_new] = known.try_emplace(std::vector<uint16_t>(begin, begin + kPageSize),
                                                static_cast<uint16_t>(known.size()));
    if (is_new) pages_.insert(pages_.end(), begin, begin + kPageSize);
    page_of_[page] = it->second;
  }
}

absl::Span<const char32_t> UnicodeProperties::Lowercase(char32_t code_point) const {
  return Find(kLowercase, code_point);
}

absl::Span<const char32_t> UnicodeProperties::Decompose(char32_t code_point,
                                                        std::array<char32_t, 3>& buffer) const {
  if (code_point < kHangulFirst || code_point > kHangulLast) {
    return Find(kDecompositions, code_point);
  }
  const char32_t syllable = code_point - kHangulFirst;
  const char32_t trailing = syllable % kHangulTrailings;
  buffer = {kHangulLeading + syllable / (kHangulVowels * kHangulTrailings),
            kHangulVowel + syllable / kHangulTrailings % kHangulVowels, kHangulTrailing + trailing};
  return {buffer.data(), trailing == 0 ? size_t{2} : size_t{3}};
}

uint8_t UnicodeProperties::CombiningRank(char32_t code_point) const {
  const auto it =
      std::partition_point(std::begin(kCombiningRanks), std::end(kCombiningRanks),
                           [code_point](const auto& range) { return range.last < code_point; });
  return it != std::end(kCombiningRanks) && it->first <= code_point ? it->rank : uint8_t{0};
}

}  // namespace attune
