// Runs one text through the pipeline: added tokens, normalizer, words, pieces.
#ifndef ATTUNE_ENGINE_TEXT_TEXT_ENCODER_H_
#define ATTUNE_ENGINE_TEXT_TEXT_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/text/added_vocabulary.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/wordpiece.h"

namespace attune {

// The immutable parts that texts run through. Thread-safe.
struct TextPipeline {
  AddedVocabulary added_vocabulary;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  WordPiece model;
};

// The tokens of one text, without template specials.
struct TextTokens {
  std::vector<int32_t> ids;

  // Filled only with details.
  struct Span {
    size_t begin;  // bytes of the original text
    size_t end;
  };
  std::vector<Span> spans;
  std::vector<int32_t> word_ids;  // from 0; an added token is a word
  std::vector<bool> added;        // the token is an added one

  // Tokens when the limit was reached at the end of a word (which may be more than the limit); all
  // of them if it never was. The reference stops there, and cuts pairs by this count.
  int64_t counted = 0;
};

struct TextEncodeOptions {
  // Stop at the first word that reaches this many tokens; at most the next word is added, so
  // that ids.size() > counted tells that there was more. Negative: no limit.
  int64_t limit = -1;
  bool details = false;
  bool specials_as_text = false;
};

// `text` must be valid UTF-8. Linear in the text up to where it stops, apart from finding added
// tokens (a scan for their first bytes).
TextTokens EncodeText(const TextPipeline& pipeline, absl::string_view text,
                      const TextEncodeOptions& options);

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_TEXT_ENCODER_H_
