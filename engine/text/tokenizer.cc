#include "engine/text/tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/text/post_processor.h"
#include "engine/text/text_encoder.h"
#include "engine/text/tokenizer_parts.h"
#include "engine/text/truncation.h"
#include "engine/text/utf8.h"

namespace attune {
namespace {

// The tokens of one text that stay after truncation.
struct KeptTokens {
  TextTokens tokens;
  size_t begin = 0;
  size_t end = 0;
};

// Turns byte positions of a text into code points, walking from one to the next.
class CodePointCounter {
 public:
  explicit CodePointCounter(absl::string_view text) : text_(text) {}

  int64_t At(size_t byte) {
    if (byte >= byte_) {
      code_point_ += CountCodePoints(text_.substr(byte_, byte - byte_));
    } else {
      code_point_ -= CountCodePoints(text_.substr(byte, byte_ - byte));
    }
    byte_ = byte;
    return code_point_;
  }

 private:
  const absl::string_view text_;
  size_t byte_ = 0;
  int64_t code_point_ = 0;
};

absl::Status CheckUtf8(absl::string_view text) {
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("invalid UTF-8 at byte ", invalid));
}

// Tokens that the texts may have under the limit; nothing if there is no limit.
absl::StatusOr<std::optional<int64_t>> Room(const TokenizeOptions& options, int64_t specials) {
  if (options.max_tokens == 0) return std::optional<int64_t>();
  if (options.max_tokens < specials || options.max_tokens < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_tokens is ", options.max_tokens, ", but the special tokens alone are ", specials));
  }
  return std::optional<int64_t>(options.max_tokens - specials);
}

// How many tokens the reference sees when it truncates on the left: whole words from the end until
// there are `limit`, where added tokens never end the search.
int64_t CountFromRight(const TextTokens& tokens, int64_t limit) {
  int64_t count = 0;
  size_t begin = tokens.ids.size();
  while (begin > 0) {
    const size_t end = begin;
    while (begin > 0 && tokens.word_ids[begin - 1] == tokens.word_ids[end - 1]) --begin;
    count += static_cast<int64_t>(end - begin);
    if (!tokens.added[begin] && count >= limit) break;
  }
  return count;
}

void Cut(int64_t keep, TruncationSide side, KeptTokens* text) {
  const auto size = static_cast<int64_t>(text->tokens.ids.size());
  keep = std::min(keep, size);
  text->begin = static_cast<size_t>(side == TruncationSide::kLeft ? size - keep : 0);
  text->end = text->begin + static_cast<size_t>(keep);
}

void AppendSpecial(const TemplatePiece& piece, bool offsets, Encoding* encoding) {
  encoding->ids.insert(encoding->ids.end(), piece.ids.begin(), piece.ids.end());
  encoding->type_ids.resize(encoding->ids.size(), piece.type_id);
  if (!offsets) return;
  encoding->byte_ranges.resize(encoding->ids.size());
  encoding->code_point_ranges.resize(encoding->ids.size());
  encoding->word_ids.resize(encoding->ids.size(), -1);
  encoding->special.resize(encoding->ids.size(), true);
}

void AppendText(const KeptTokens& kept, absl::string_view text, int32_t type_id, bool offsets,
                Encoding* encoding) {
  const TextTokens& tokens = kept.tokens;
  const auto begin = static_cast<std::ptrdiff_t>(kept.begin);
  const auto end = static_cast<std::ptrdiff_t>(kept.end);
  encoding->ids.insert(encoding->ids.end(), tokens.ids.begin() + begin, tokens.ids.begin() + end);
  encoding->type_ids.resize(encoding->ids.size(), type_id);
  if (!offsets) return;
  encoding->word_ids.insert(encoding->word_ids.end(), tokens.word_ids.begin() + begin,
                            tokens.word_ids.begin() + end);
  encoding->special.resize(encoding->ids.size(), false);
  CodePointCounter counter(text);
  for (size_t i = kept.begin; i < kept.end; ++i) {
    const TextTokens::Span& span = tokens.spans[i];
    encoding->byte_ranges.push_back(
        {static_cast<int64_t>(span.begin), static_cast<int64_t>(span.end)});
    const int64_t first = counter.At(span.begin);
    encoding->code_point_ranges.push_back({first, counter.At(span.end)});
  }
}

}  // namespace

struct Tokenizer::Pipeline {
  TextPipeline text;
  PostProcessor post_processor;
  std::vector<std::pair<int32_t, std::string>> pieces;  // by id
  int64_t vocab_size = 0;
  int32_t id_limit = 0;
  int32_t mask_token_id = -1;

  // Puts the finished encoding of one text, or of a pair, together.
  Encoding Assemble(const Template& layout, const TokenizeOptions& options, const KeptTokens& first,
                    absl::string_view first_text, const KeptTokens& second,
                    absl::string_view second_text) const;
};

Encoding Tokenizer::Pipeline::Assemble(const Template& layout, const TokenizeOptions& options,
                                       const KeptTokens& first, absl::string_view first_text,
                                       const KeptTokens& second,
                                       absl::string_view second_text) const {
  Encoding encoding;
  const size_t size = first.end - first.begin + second.end - second.begin +
                      static_cast<size_t>(layout.special_tokens());
  encoding.ids.reserve(size);
  encoding.type_ids.reserve(size);
  if (options.offsets) {
    encoding.byte_ranges.reserve(size);
    encoding.code_point_ranges.reserve(size);
    encoding.word_ids.reserve(size);
    encoding.special.reserve(size);
  }
  for (const TemplatePiece& piece : layout.pieces) {
    switch (piece.kind) {
      case TemplatePiece::Kind::kFirstText:
        AppendText(first, first_text, piece.type_id, options.offsets, &encoding);
        break;
      case TemplatePiece::Kind::kSecondText:
        AppendText(second, second_text, piece.type_id, options.offsets, &encoding);
        break;
      case TemplatePiece::Kind::kSpecial:
        if (options.add_special_tokens) AppendSpecial(piece, options.offsets, &encoding);
        break;
    }
  }
  return encoding;
}

absl::StatusOr<std::unique_ptr<const Tokenizer>> Tokenizer::Create(const TokenizerFiles& files) {
  ATTUNE_ASSIGN_OR_RETURN(TokenizerParts parts,
                          files.tokenizer_json.empty()
                              ? ReadVocabTxt(files.vocab_txt, files.tokenizer_config_json)
                              : ReadTokenizerJson(files.tokenizer_json));
  if (files.lower_case_first) {
    NormalizerPass lower;
    lower.lowercase = true;
    parts.normalizer.insert(parts.normalizer.begin(), lower);
  }
  Normalizer normalizer(parts.normalizer);
  ATTUNE_ASSIGN_OR_RETURN(AddedVocabulary added,
                          AddedVocabulary::Create(parts.added_tokens, normalizer));
  std::vector<std::pair<absl::string_view, int32_t>> vocab(parts.vocab.begin(), parts.vocab.end());

  absl::flat_hash_map<absl::string_view, int32_t> tokens(vocab.begin(), vocab.end());
  for (const AddedToken& token : parts.added_tokens) tokens.emplace(token.content, token.id);

  std::unique_ptr<Pipeline> pipeline(
      new Pipeline{{std::move(added), std::move(normalizer), PreTokenizer(parts.pre_tokenizer),
                    WordPiece(vocab, parts.model)},
                   std::move(parts.post_processor),
                   {}});
  pipeline->vocab_size = static_cast<int64_t>(tokens.size());
  pipeline->pieces.reserve(tokens.size());
  for (const auto& [content, id] : tokens) pipeline->pieces.emplace_back(id, content);
  std::sort(pipeline->pieces.begin(), pipeline->pieces.end());
  if (!pipeline->pieces.empty()) pipeline->id_limit = pipeline->pieces.back().first + 1;
  for (const Template* layout :
       {&pipeline->post_processor.single, &pipeline->post_processor.pair}) {
    for (const TemplatePiece& piece : layout->pieces) {
      for (const int32_t id : piece.ids) pipeline->id_limit = std::max(pipeline->id_limit, id + 1);
    }
  }
  const auto mask = tokens.find(parts.mask_token);
  if (!parts.mask_token.empty() && mask != tokens.end()) pipeline->mask_token_id = mask->second;
  return std::unique_ptr<const Tokenizer>(new Tokenizer(std::move(pipeline)));
}

Tokenizer::Tokenizer(std::unique_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

Tokenizer::~Tokenizer() = default;

absl::StatusOr<Encoding> Tokenizer::Encode(absl::string_view text,
                                           const TokenizeOptions& options) const {
  ATTUNE_RETURN_IF_ERROR(CheckUtf8(text));
  const Template& layout = pipeline_->post_processor.single;
  const int64_t specials = options.add_special_tokens ? layout.special_tokens() : 0;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<int64_t> room, Room(options, specials));

  TextEncodeOptions encode_options;
  encode_options.details = options.offsets;
  encode_options.specials_as_text = options.specials_as_text;
  if (room.has_value() && options.truncation_side == TruncationSide::kRight) {
    encode_options.limit = *room;
  }
  KeptTokens kept;
  kept.tokens = EncodeText(pipeline_->text, text, encode_options);
  const auto size = static_cast<int64_t>(kept.tokens.ids.size());
  Cut(room.value_or(size), options.truncation_side, &kept);

  Encoding encoding = pipeline_->Assemble(layout, options, kept, text, {}, {});
  encoding.original_tokens = size + specials;
  encoding.truncated = room.has_value() && size > *room;
  return encoding;
}

absl::StatusOr<Encoding> Tokenizer::EncodePair(absl::string_view first, absl::string_view second,
                                               const TokenizeOptions& options) const {
  ATTUNE_RETURN_IF_ERROR(CheckUtf8(first));
  ATTUNE_RETURN_IF_ERROR(CheckUtf8(second));
  const Template& layout = pipeline_->post_processor.pair;
  const int64_t specials = options.add_special_tokens ? layout.special_tokens() : 0;
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<int64_t> room, Room(options, specials));

  const bool left = options.truncation_side == TruncationSide::kLeft;
  TextEncodeOptions encode_options;
  // Counting from the right needs to know the words.
  encode_options.details = options.offsets || (room.has_value() && left);
  encode_options.specials_as_text = options.specials_as_text;
  if (room.has_value() && !left) encode_options.limit = options.max_tokens;

  KeptTokens a;
  KeptTokens b;
  a.tokens = EncodeText(pipeline_->text, first, encode_options);
  b.tokens = EncodeText(pipeline_->text, second, encode_options);
  const auto size = static_cast<int64_t>(a.tokens.ids.size() + b.tokens.ids.size());
  PairLengths lengths = {a.tokens.counted, b.tokens.counted};
  if (room.has_value()) {
    if (left) {
      lengths = {CountFromRight(a.tokens, options.max_tokens),
                 CountFromRight(b.tokens, options.max_tokens)};
    }
    lengths = TruncateLongestFirst(lengths, *room);
  }
  Cut(lengths.first, options.truncation_side, &a);
  Cut(lengths.second, options.truncation_side, &b);

  Encoding encoding = pipeline_->Assemble(layout, options, a, first, b, second);
  encoding.original_tokens = size + specials;
  encoding.truncated = room.has_value() && size > lengths.first + lengths.second;
  return encoding;
}

absl::string_view Tokenizer::TokenText(int32_t id) const {
  const auto it = std::lower_bound(pipeline_->pieces.begin(), pipeline_->pieces.end(), id,
                                   [](const std::pair<int32_t, std::string>& piece, int32_t value) {
                                     return piece.first < value;
                                   });
  return it != pipeline_->pieces.end() && it->first == id ? absl::string_view(it->second) : "";
}

int32_t Tokenizer::id_limit() const { return pipeline_->id_limit; }

int64_t Tokenizer::vocab_size() const { return pipeline_->vocab_size; }

int64_t Tokenizer::special_tokens_per_text() const {
  return pipeline_->post_processor.single.special_tokens();
}

int64_t Tokenizer::special_tokens_per_pair() const {
  return pipeline_->post_processor.pair.special_tokens();
}

int32_t Tokenizer::mask_token_id() const { return pipeline_->mask_token_id; }

}  // namespace attune
