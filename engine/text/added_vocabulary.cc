#include "engine/text/added_vocabulary.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "engine/text/unicode_properties.h"
#include "engine/text/utf8.h"

namespace attune {
namespace {

bool EndsWith(absl::string_view text, size_t end, CharClass char_class) {
  return end > 0 &&
         UnicodeProperties::Get().Has(DecodeUtf8Before(text, end).code_point, char_class);
}

bool StartsWith(absl::string_view text, size_t begin, CharClass char_class) {
  return begin < text.size() &&
         UnicodeProperties::Get().Has(DecodeUtf8(text, begin).code_point, char_class);
}

std::vector<std::pair<absl::string_view, int32_t>> Keys(
    const std::vector<AddedTokenMatcher::Pattern>& patterns) {
  std::vector<std::pair<absl::string_view, int32_t>> keys;
  keys.reserve(patterns.size());
  for (const auto& pattern : patterns) {
    keys.emplace_back(pattern.text, static_cast<int32_t>(keys.size()));
  }
  return keys;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(const std::vector<Pattern>& patterns) : trie_(Keys(patterns)) {
  for (const Pattern& pattern : patterns) {
    tokens_.push_back(*pattern.token);
    begins_pattern_[static_cast<unsigned char>(pattern.text[0])] = true;
  }
  if (std::count(begins_pattern_.begin(), begins_pattern_.end(), true) == 1) {
    only_first_byte_ = static_cast<unsigned char>(patterns[0].text[0]);
  }
}

absl::StatusOr<AddedTokenMatcher> AddedTokenMatcher::Create(const std::vector<Pattern>& patterns) {
  std::vector<Pattern> distinct;
  std::set<absl::string_view> seen;
  for (const Pattern& pattern : patterns) {
    // The reference would cut the text between any two characters, or not return.
    if (pattern.text.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "added token ", QuoteJson(pattern.token->content), " is empty once normalised"));
    }
    if (seen.insert(pattern.text).second) distinct.push_back(pattern);
  }
  return AddedTokenMatcher(distinct);
}

size_t AddedTokenMatcher::NextCandidate(absl::string_view text, size_t from) const {
  if (only_first_byte_ >= 0) {
    const void* found = std::memchr(text.data() + from, only_first_byte_, text.size() - from);
    if (found == nullptr) return text.size();
    return static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < text.size() && !begins_pattern_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

bool AddedTokenMatcher::Cursor::Next(Segment* segment) {
  if (!has_token_ && !matcher_.empty()) {
    has_token_ = FindToken(&token_);
  }
  if (has_token_ && segment_ >= token_.begin) {
    *segment = token_;
    segment_ = token_.end;
    has_token_ = false;
    return true;
  }
  const size_t end = has_token_ ? token_.begin : text_.size();
  if (segment_ >= end) return false;
  *segment = {segment_, end, nullptr};
  segment_ = end;
  return true;
}

bool AddedTokenMatcher::Cursor::FindToken(Segment* found) {
  while (true) {
    search_ = matcher_.NextCandidate(text_, search_);
    if (search_ == text_.size()) return false;
    const DoubleArrayTrie::Match match = matcher_.trie_.LongestPrefix(text_.substr(search_));
    if (match.length == 0) {
      ++search_;
      continue;
    }
    const AddedToken& token = matcher_.tokens_[static_cast<size_t>(match.value)];
    size_t begin = search_;
    size_t end = search_ + match.length;
    // A match that a filter refuses has still used up its text.
    search_ = end;
    if (specials_as_text_ && token.special) continue;
    if (token.single_word &&
        (EndsWith(text_, begin, kWordChar) || StartsWith(text_, end, kWordChar))) {
      continue;
    }
    if (token.lstrip) {
      while (begin > segment_ && EndsWith(text_, begin, kWhiteSpaceChar)) {
        begin -= DecodeUtf8Before(text_, begin).length;
      }
      begin = std::max(begin, segment_);
    }
    if (token.rstrip) {
      while (StartsWith(text_, end, kWhiteSpaceChar)) end += DecodeUtf8(text_, end).length;
    }
    if (begin >= end) continue;
    *found = {begin, end, &token};
    return true;
  }
}

absl::StatusOr<AddedVocabulary> AddedVocabulary::Create(const std::vector<AddedToken>& tokens,
                                                        const Normalizer& normalizer) {
  std::map<absl::string_view, const AddedToken*> by_content;
  for (const AddedToken& token : tokens) by_content[token.content] = &token;

  std::vector<std::string> forms;  // reserved, so that the patterns can point into it
  forms.reserve(tokens.size());
  std::vector<AddedTokenMatcher::Pattern> raw;
  std::vector<AddedTokenMatcher::Pattern> normalized;
  for (const AddedToken& token : tokens) {
    if (by_content[token.content] != &token) continue;
    if (token.normalized) {
      forms.push_back(normalizer.Normalize(token.content));
      normalized.push_back({forms.back(), &token});
    } else {
      raw.push_back({token.content, &token});
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(AddedTokenMatcher raw_matcher, AddedTokenMatcher::Create(raw));
  ATTUNE_ASSIGN_OR_RETURN(AddedTokenMatcher normalized_matcher,
                          AddedTokenMatcher::Create(normalized));
  return AddedVocabulary(std::move(raw_matcher), std::move(normalized_matcher));
}

}  // namespace attune
