// A tokenizer's description, read from its files and checked, before anything is built from it.
#ifndef ATTUNE_ENGINE_TEXT_TOKENIZER_PARTS_H_
#define ATTUNE_ENGINE_TEXT_TOKENIZER_PARTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/text/added_vocabulary.h"
#include "engine/text/normalizer.h"
#include "engine/text/post_processor.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/wordpiece.h"

namespace attune {

struct TokenizerParts {
  std::vector<NormalizerPass> normalizer;
  PreTokenizerKind pre_tokenizer = PreTokenizerKind::kNone;
  WordPieceOptions model;
  // Piece and id, each piece once. Ids are not negative; holes are allowed.
  std::vector<std::pair<std::string, int32_t>> vocab;
  std::vector<AddedToken> added_tokens;
  PostProcessor post_processor = PostProcessor::None();
  std::string mask_token;  // empty if it is not known which one it is
};

// Reads a tokenizer.json (version 1.0). Logs what it leaves out (truncation, padding, decoder).
// kInvalidArgument names the JSON path and the reason; kUnimplemented a component that does not
// exist here.
absl::StatusOr<TokenizerParts> ReadTokenizerJson(absl::string_view json);

// Reads a BERT vocab.txt (one piece a line, ids from 0) with the tokenizer_config.json beside it,
// which may be empty. Errors as ReadTokenizerJson.
absl::StatusOr<TokenizerParts> ReadVocabTxt(absl::string_view vocab_txt,
                                            absl::string_view tokenizer_config_json);

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_TOKENIZER_PARTS_H_
