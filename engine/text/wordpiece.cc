#include "engine/text/wordpiece.h"

#include "engine/text/utf8.h"

namespace attune {

WordPiece::WordPiece(const std::vector<std::pair<absl::string_view, int32_t>>& vocab,
                     const WordPieceOptions& options)
    : trie_(vocab),
      continuing_(trie_.Find(options.continuing_prefix)),
      max_word_code_points_(static_cast<size_t>(options.max_word_code_points)),
      unknown_id_(options.unknown_id) {}

void WordPiece::Tokenize(absl::string_view word, std::vector<int32_t>* ids,
                         std::vector<size_t>* piece_ends) const {
  const size_t ids_before = ids->size();
  const size_t ends_before = piece_ends != nullptr ? piece_ends->size() : 0;
  // Only a word with more bytes than that can have more characters.
  bool known = word.size() <= max_word_code_points_ ||
               static_cast<size_t>(CountCodePoints(word)) <= max_word_code_points_;
  size_t begin = 0;
  while (known && begin < word.size()) {
    DoubleArrayTrie::Match match;
    if (begin == 0) {
      match = trie_.LongestPrefix(word);
    } else if (continuing_.has_value()) {
      match = trie_.LongestPrefix(word.substr(begin), *continuing_);
    }
    known = match.length > 0;
    begin += match.length;
    ids->push_back(match.value);
    if (piece_ends != nullptr) piece_ends->push_back(begin);
  }
  if (known) return;
  ids->resize(ids_before);
  ids->push_back(unknown_id_);
  if (piece_ends != nullptr) {
    piece_ends->resize(ends_before);
    piece_ends->push_back(word.size());
  }
}

}  // namespace attune
