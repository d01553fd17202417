// Tokens that are recognised in the text itself, before it is cut into words: [MASK], [SEP], ...
#ifndef ATTUNE_ENGINE_TEXT_ADDED_VOCABULARY_H_
#define ATTUNE_ENGINE_TEXT_ADDED_VOCABULARY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/text/double_array_trie.h"
#include "engine/text/normalizer.h"

namespace attune {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // matches only where no \w character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // its normalised form is looked for in normalised text
  bool special = false;      // [CLS] and the like; see TokenizeOptions::specials_as_text
};

// Finds tokens in a text from left to right, the longest at each place. Immutable and thread-safe.
class AddedTokenMatcher {
 public:
  // `tokens` by the string each is looked for as. Borrows the strings only during the call.
  struct Pattern {
    absl::string_view text;
    const AddedToken* token;
  };
  // Of equal patterns the first counts (the reference chooses one at random). kInvalidArgument if
  // a pattern is empty.
  static absl::StatusOr<AddedTokenMatcher> Create(const std::vector<Pattern>& patterns);

  bool empty() const { return tokens_.empty(); }

  // A piece of the text: a token, or text between tokens (`token` is null).
  struct Segment {
    size_t begin;
    size_t end;
    const AddedToken* token;
  };

  // Cuts a text into segments, one call of Next after the other. Thread-compatible.
  class Cursor {
   public:
    // All arguments must outlive the cursor. `text` is valid UTF-8.
    Cursor(const AddedTokenMatcher& matcher, absl::string_view text, bool specials_as_text)
        : matcher_(matcher), text_(text), specials_as_text_(specials_as_text) {}

    // Fills *segment with the next non-empty segment; false at the end of the text.
    bool Next(Segment* segment);

   private:
    // Finds the next token from search_ on that its filters admit.
    bool FindToken(Segment* found);

    const AddedTokenMatcher& matcher_;
    const absl::string_view text_;
    const bool specials_as_text_;
    size_t search_ = 0;   // where matching goes on
    size_t segment_ = 0;  // end of the last segment
    bool has_token_ = false;
    Segment token_ = {};  // the token after the text segment that was returned
  };

 private:
  explicit AddedTokenMatcher(const std::vector<Pattern>& patterns);

  // The first place at or after `from` where a pattern may begin, or text.size().
  size_t NextCandidate(absl::string_view text, size_t from) const;

  std::vector<AddedToken> tokens_;
  DoubleArrayTrie trie_;  // values index tokens_
  std::array<bool, 256> begins_pattern_ = {};
  int only_first_byte_ = -1;  // the byte that every pattern begins with, if they share one
};

// The matchers of one tokenizer.
class AddedVocabulary {
 public:
  // Of tokens with equal content the last counts. kInvalidArgument as AddedTokenMatcher::Create.
  static absl::StatusOr<AddedVocabulary> Create(const std::vector<AddedToken>& tokens,
                                                const Normalizer& normalizer);

  const AddedTokenMatcher& raw() const { return raw_; }                // for the original text
  const AddedTokenMatcher& normalized() const { return normalized_; }  // for normalised text

 private:
  AddedVocabulary(AddedTokenMatcher raw, AddedTokenMatcher normalized)
      : raw_(std::move(raw)), normalized_(std::move(normalized)) {}

  AddedTokenMatcher raw_;
  AddedTokenMatcher normalized_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_ADDED_VOCABULARY_H_
