// WordPiece: cuts a word into vocabulary pieces, the longest first.
#ifndef ATTUNE_ENGINE_TEXT_WORDPIECE_H_
#define ATTUNE_ENGINE_TEXT_WORDPIECE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/text/double_array_trie.h"

namespace attune {

struct WordPieceOptions {
  std::string continuing_prefix = "##";  // in front of every piece but a word's first
  int64_t max_word_code_points = 100;    // a longer word is unknown
  int32_t unknown_id = 0;                // the one token of a word that cannot be cut
};

// Schuster and Nakajima, "Japanese and Korean Voice Search" (ICASSP 2012), as BERT uses it.
// Immutable and thread-safe.
class WordPiece {
 public:
  // `vocab` holds the pieces with their ids; strings are borrowed only during the call.
  WordPiece(const std::vector<std::pair<absl::string_view, int32_t>>& vocab,
            const WordPieceOptions& options);

  // Appends the ids of the pieces of `word`, which is not empty and valid UTF-8, and, unless it is
  // null, where each ends in the word (bytes). Piece by piece the longest match wins, with no way
  // back: if the rest has no match, the whole word is one unknown token.
  // Time: word length times the longest piece; linear for a word over max_word_code_points.
  void Tokenize(absl::string_view word, std::vector<int32_t>* ids,
                std::vector<size_t>* piece_ends) const;

 private:
  const DoubleArrayTrie trie_;
  // Where a piece after the first starts in the trie: behind the prefix. Absent: no such pieces.
  const std::optional<DoubleArrayTrie::NodeIndex> continuing_;
  const size_t max_word_code_points_;
  const int32_t unknown_id_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_WORDPIECE_H_
