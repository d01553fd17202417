#include "server/map_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"

namespace attune {
namespace {

bool IsCharacterBorder(absl::string_view text, int64_t byte) {
  const auto at = static_cast<size_t>(byte);
  return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

// A number for each token: consecutive tokens with the same one are one word. Negative: the token
// stands alone.
std::vector<int64_t> WordNumbers(const Encoding& encoding, absl::Span<const TextRange> spans) {
  if (spans.empty()) return {encoding.word_ids.begin(), encoding.word_ids.end()};
  std::vector<int64_t> numbers;
  numbers.reserve(encoding.ids.size());
  for (size_t token = 0; token < encoding.ids.size(); ++token) {
    const int64_t byte = encoding.byte_ranges[token].begin;
    const auto after =
        std::upper_bound(spans.begin(), spans.end(), byte,
                         [](int64_t value, const TextRange& span) { return value < span.begin; });
    const int64_t span = after - spans.begin() - 1;
    const bool inside =
        !encoding.special[token] && span >= 0 && byte < spans[static_cast<size_t>(span)].end;
    numbers.push_back(inside ? span : -1);
  }
  return numbers;
}

std::vector<MapRange> WordsOf(const Encoding& encoding, absl::Span<const TextRange> spans) {
  const std::vector<int64_t> numbers = WordNumbers(encoding, spans);
  std::vector<MapRange> words;
  for (size_t token = 0; token < numbers.size(); ++token) {
    const auto begin = static_cast<int64_t>(token);
    const bool goes_on = token > 0 && numbers[token] >= 0 && numbers[token] == numbers[token - 1];
    if (goes_on) {
      words.back().end = begin + 1;
    } else {
      words.push_back({begin, begin + 1});
    }
  }
  return words;
}

TokenRoles RolesOf(const Encoding& encoding, const Tokenizer& tokenizer) {
  std::vector<int32_t> separators;
  for (size_t token = 1; token < encoding.ids.size(); ++token) {
    if (encoding.special[token]) separators.push_back(encoding.ids[token]);
  }
  TokenRoles roles;
  roles.first_is_special = !encoding.special.empty() && encoding.special[0];
  for (const int32_t id : encoding.ids) {
    const absl::string_view token = tokenizer.TokenText(id);
    roles.separator.push_back(std::find(separators.begin(), separators.end(), id) !=
                              separators.end());
    roles.punctuation.push_back(token == "." || token == ",");
  }
  return roles;
}

}  // namespace

absl::Status CheckSpans(absl::string_view text, absl::Span<const TextRange> spans) {
  int64_t last_end = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    const TextRange& span = spans[i];
    const bool ordered = span.begin >= last_end && span.begin < span.end &&
                         span.end <= static_cast<int64_t>(text.size());
    if (!ordered || !IsCharacterBorder(text, span.begin) || !IsCharacterBorder(text, span.end)) {
      return FieldError(absl::StrCat("query.spans[", i, "]"), " is [", span.begin, ", ", span.end,
                        "); spans must ascend without ",
                        "overlap, on character borders, within the text's ", text.size(), " bytes");
    }
    last_end = span.end;
  }
  return absl::OkStatus();
}

MapText MakeMapText(const Encoding& encoding, const Tokenizer& tokenizer,
                    absl::Span<const TextRange> spans) {
  MapText text;
  text.seq = encoding.size();
  text.special = encoding.special;
  text.second_begin =
      std::find(encoding.type_ids.begin(), encoding.type_ids.end(), 1) - encoding.type_ids.begin();
  text.words = WordsOf(encoding, spans);
  text.roles = RolesOf(encoding, tokenizer);
  return text;
}

}  // namespace attune
