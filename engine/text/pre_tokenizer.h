// Cuts normalised text into words.
#ifndef ATTUNE_ENGINE_TEXT_PRE_TOKENIZER_H_
#define ATTUNE_ENGINE_TEXT_PRE_TOKENIZER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/text/unicode_properties.h"
#include "engine/text/utf8.h"

namespace attune {

enum class PreTokenizerKind {
  kNone,             // the whole text is one word
  kBert,             // cut at white space, which is dropped; each punctuation mark is a word
  kWhitespace,       // matches of \w+|[^\w\s]+
  kWhitespaceSplit,  // cut at white space, which is dropped
};

// Immutable and thread-safe.
class PreTokenizer {
 public:
  explicit PreTokenizer(PreTokenizerKind kind);

  // Calls visit(begin, end) for each word of valid UTF-8 `text` (byte positions, never empty) until
  // one call returns false. Returns whether none did. Linear in the text.
  template <typename Visitor>
  bool ForEachWord(absl::string_view text, Visitor visit) const;

  // Whether the ASCII character `c` is a word of its own, whatever is around it.
  bool IsolatesAscii(char c) const { return ascii_[static_cast<unsigned char>(c)] == kAlone; }
  bool cuts_at_spaces() const { return kind_ != PreTokenizerKind::kNone; }

 private:
  // What a character means to the words around it. Neighbours of one kind share a word, except
  // that kAlone never shares and kBreak belongs to none.
  enum Role : unsigned char { kBreak, kAlone, kWordRole, kSymbolRole };

  Role RoleOf(char32_t code_point) const;

  const PreTokenizerKind kind_;
  const UnicodeProperties& unicode_ = UnicodeProperties::Get();
  std::array<Role, 128> ascii_;
};

template <typename Visitor>
bool PreTokenizer::ForEachWord(absl::string_view text, Visitor visit) const {
  size_t word = 0;          // where the open word began
  Role open_role = kBreak;  // kBreak: no word is open
  size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    Role role;
    size_t length = 1;
    if (lead < 0x80) {
      role = ascii_[lead];
    } else {
      const DecodedChar c = DecodeUtf8(text, at);
      role = RoleOf(c.code_point);
      length = c.length;
    }
    if (role != open_role || role == kAlone) {
      if (open_role != kBreak && !visit(word, at)) return false;
      word = at;
      open_role = role;
    }
    at += length;
  }
  return open_role == kBreak || visit(word, text.size());
}

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_PRE_TOKENIZER_H_
