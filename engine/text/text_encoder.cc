#include "engine/text/text_encoder.h"

#include <algorithm>

#include "engine/text/utf8.h"

namespace attune {
namespace {

// Long text is normalised in blocks of about this many bytes, so that work stops soon after the
// limit and the scratch memory stays in the cache.
constexpr size_t kBlockBytes = 2048;

// Rough tokens per byte of English, for reserving.
constexpr size_t kBytesPerToken = 4;

class Run {
 public:
  Run(const TextPipeline& pipeline, absl::string_view text, const TextEncodeOptions& options)
      : pipeline_(pipeline), text_(text), options_(options) {}

  TextTokens Finish() && {
    size_t expected = text_.size() / kBytesPerToken + 4;
    if (options_.limit >= 0) expected = std::min(expected, static_cast<size_t>(options_.limit) + 4);
    tokens_.ids.reserve(expected);

    AddedTokenMatcher::Cursor cursor(pipeline_.added_vocabulary.raw(), text_,
                                     options_.specials_as_text);
    AddedTokenMatcher::Segment segment;
    while (!stopped_ && cursor.Next(&segment)) {
      if (segment.token != nullptr) {
        AddToken(segment.token->id, {segment.begin, segment.end});
      } else {
        Chunk(segment.begin, segment.end);
      }
    }
    if (counted_ < 0) counted_ = size();
    tokens_.counted = counted_;
    return std::move(tokens_);
  }

 private:
  int64_t size() const { return static_cast<int64_t>(tokens_.ids.size()); }

  // The text between two added tokens.
  void Chunk(size_t begin, size_t end) {
    // Normalised added tokens may lie across any border between blocks.
    const bool whole = !pipeline_.added_vocabulary.normalized().empty() ||
                       !pipeline_.pre_tokenizer.cuts_at_spaces();
    while (!stopped_ && begin < end) {
      const size_t block_end = whole ? end : BlockEnd(begin, end);
      Block(begin, block_end);
      begin = block_end;
    }
  }

  // Whether no word, no decomposition and no reordering of marks reaches across text_[at].
  bool IsBorder(size_t at) const {
    const char c = text_[at];
    const auto byte = static_cast<unsigned char>(c);
    // Other white space may be removed by the normalizer before it separates anything.
    if (byte < 0x80) return c == ' ' || c == '\n' || pipeline_.pre_tokenizer.IsolatesAscii(c);
    // Lead bytes of U+5000..U+9FFF, which are all Chinese characters.
    return byte >= 0xE5 && byte <= 0xE9 && pipeline_.normalizer.spaces_chinese_chars();
  }

  // The last border at most kBlockBytes on, or else the first one after that.
  size_t BlockEnd(size_t begin, size_t end) const {
    if (end - begin <= kBlockBytes) return end;
    for (size_t at = begin + kBlockBytes; at > begin; --at) {
      if (IsBorder(at)) return at;
    }
    for (size_t at = begin + kBlockBytes; at < end; ++at) {
      if (IsBorder(at)) return at;
    }
    return end;
  }

  void Block(size_t begin, size_t end) {
    pipeline_.normalizer.Normalize(text_.substr(begin, end - begin), begin, options_.details,
                                   &normalized_, &scratch_);
    if (pipeline_.added_vocabulary.normalized().empty()) {
      Words(0, normalized_.bytes.size());
      return;
    }
    AddedTokenMatcher::Cursor cursor(pipeline_.added_vocabulary.normalized(), normalized_.bytes,
                                     options_.specials_as_text);
    AddedTokenMatcher::Segment segment;
    while (!stopped_ && cursor.Next(&segment)) {
      if (segment.token != nullptr) {
        AddToken(segment.token->id,
                 options_.details ? OriginalSpan(segment.begin, segment.end) : TextTokens::Span());
      } else {
        Words(segment.begin, segment.end);
      }
    }
  }

  void Words(size_t begin, size_t end) {
    const absl::string_view text = absl::string_view(normalized_.bytes).substr(begin, end - begin);
    pipeline_.pre_tokenizer.ForEachWord(text, [&](size_t word_begin, size_t word_end) {
      Word(begin + word_begin, begin + word_end);
      return !stopped_;
    });
  }

  void Word(size_t begin, size_t end) {
    const absl::string_view word = absl::string_view(normalized_.bytes).substr(begin, end - begin);
    if (options_.details) {
      piece_ends_.clear();
      pipeline_.model.Tokenize(word, &tokens_.ids, &piece_ends_);
      size_t piece_begin = begin;
      for (const size_t piece_end : piece_ends_) {
        tokens_.spans.push_back(OriginalSpan(piece_begin, begin + piece_end));
        tokens_.word_ids.push_back(next_word_);
        tokens_.added.push_back(false);
        piece_begin = begin + piece_end;
      }
    } else {
      pipeline_.model.Tokenize(word, &tokens_.ids, nullptr);
    }
    ++next_word_;
    CheckLimit(/*is_added=*/false);
  }

  void AddToken(int32_t id, TextTokens::Span span) {
    tokens_.ids.push_back(id);
    if (options_.details) {
      tokens_.spans.push_back(span);
      tokens_.word_ids.push_back(next_word_);
      tokens_.added.push_back(true);
    }
    ++next_word_;
    CheckLimit(/*is_added=*/true);
  }

  // The reference looks at its limit only after a word that the model cut.
  void CheckLimit(bool is_added) {
    if (options_.limit < 0) return;
    if (counted_ >= 0) {
      stopped_ = true;
    } else if (!is_added && size() >= options_.limit) {
      counted_ = size();
    }
  }

  // Where normalised bytes [begin, end) came from.
  TextTokens::Span OriginalSpan(size_t begin, size_t end) const {
    const size_t last = normalized_.origins[end - 1];
    return {normalized_.origins[begin], last + Utf8Length(text_[last])};
  }

  const TextPipeline& pipeline_;
  const absl::string_view text_;
  const TextEncodeOptions& options_;

  TextTokens tokens_;
  int32_t next_word_ = 0;
  int64_t counted_ = -1;  // see TextTokens
  bool stopped_ = false;

  NormalizedText normalized_;
  NormalizedText scratch_;
  std::vector<size_t> piece_ends_;
};

}  // namespace

TextTokens EncodeText(const TextPipeline& pipeline, absl::string_view text,
                      const TextEncodeOptions& options) {
  return Run(pipeline, text, options).Finish();
}

}  // namespace attune
