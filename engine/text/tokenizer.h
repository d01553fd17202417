// Text to token ids, exactly as the model's tokenizer.json (or vocab.txt) says.
// The reference is Hugging Face tokenizers; where it and this header are silent, it is the
// contract.
#ifndef ATTUNE_ENGINE_TEXT_TOKENIZER_H_
#define ATTUNE_ENGINE_TEXT_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

// A half-open range [begin, end) of the original text.
struct TextRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

// What the tokenizer made of one text. Element i of each vector speaks of token i.
struct Encoding {
  std::vector<int32_t> ids;
  // 0 for the first text and its specials, 1 for a second text.
  std::vector<int32_t> type_ids;

  // Filled only with TokenizeOptions::offsets. Tokens that the template inserted have empty ranges
  // [0, 0), word -1 and special = true; a special token that the caller typed has its range and
  // special = false. Where normalisation decomposed a character, all its tokens carry its range.
  std::vector<TextRange> byte_ranges;        // UTF-8 bytes
  std::vector<TextRange> code_point_ranges;  // Unicode code points
  std::vector<int32_t> word_ids;             // pre-tokenizer words, from 0
  std::vector<bool> special;

  // Token count, specials included, before truncation. When the text was cut the tokenizer may have
  // stopped early; the count is then a lower bound that is above the limit.
  int64_t original_tokens = 0;
  bool truncated = false;

  int64_t size() const { return static_cast<int64_t>(ids.size()); }
};

enum class TruncationSide { kRight, kLeft };

struct TokenizeOptions {
  // Tokens kept in all, specials included. 0 means no limit. Work stops soon after the limit.
  int64_t max_tokens = 0;
  TruncationSide truncation_side = TruncationSide::kRight;
  bool add_special_tokens = true;
  // Special tokens typed in the text ("[SEP]") are plain text instead of their ids.
  bool specials_as_text = false;
  // Fill the ranges, words and special flags; costs about as much again as the ids alone.
  bool offsets = false;
};

// Where a folder's tokenizer comes from.
struct TokenizerFiles {
  std::string tokenizer_json;         // content, or empty
  std::string vocab_txt;              // content, used when tokenizer_json is empty
  std::string tokenizer_config_json;  // content, or empty; read with vocab_txt only
  bool lower_case_first = false;      // sentence_bert_config.json's do_lower_case
};

// Immutable and thread-safe after Create; Encode is const and re-entrant and takes no lock. The
// same text gives the same ids whatever came before.
class Tokenizer {
 public:
  // kInvalidArgument names the JSON path and the reason; kUnimplemented names a component that is
  // not built. Logs once what it ignores (truncation, padding, decoder).
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> Create(const TokenizerFiles& files);

  ~Tokenizer();

  // kInvalidArgument if `text` is not valid UTF-8 (with the byte offset), or if
  // options.max_tokens is positive and below the number of special tokens (both numbers named).
  // Linear in the size of the text; stops early when max_tokens is reached on the right.
  absl::StatusOr<Encoding> Encode(absl::string_view text, const TokenizeOptions& options) const;

  // The same for a pair of texts; ranges are relative to their own text. Truncation is
  // longest-first: tokens are taken from the longer text. Of texts that both pass max_tokens,
  // neither is read further to find out which is longer.
  absl::StatusOr<Encoding> EncodePair(absl::string_view first, absl::string_view second,
                                      const TokenizeOptions& options) const;

  // The string of a token ("##ing", "[CLS]"), or "" for an id that is not in the vocabulary.
  absl::string_view TokenText(int32_t id) const;

  // Every id that can be emitted is below this.
  int32_t id_limit() const;
  // Tokens in the vocabulary, added ones included.
  int64_t vocab_size() const;
  // Tokens the template adds to a single text, and to a pair.
  int64_t special_tokens_per_text() const;
  int64_t special_tokens_per_pair() const;
  // Ids of the special tokens the vocabulary has; -1 where absent.
  int32_t mask_token_id() const;

 private:
  struct Pipeline;
  explicit Tokenizer(std::unique_ptr<const Pipeline> pipeline);

  std::unique_ptr<const Pipeline> pipeline_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_TOKENIZER_H_
