#include "server/text_intake.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/clock.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "server/field_errors.h"

namespace attune {
namespace {

// `specials` are the tokens that the template adds to an input.
absl::StatusOr<int64_t> ResolveMaxTokens(const TextFields& fields, const TokenizeSettings& settings,
                                         int64_t specials) {
  const std::optional<int64_t> wanted = settings.policy.max_tokens;
  if (!wanted.has_value()) return settings.max_tokens;
  const int64_t least = settings.add_special_tokens ? specials : 1;
  if (*wanted < least || *wanted > settings.max_tokens) {
    return FieldError(fields.max_tokens, " is ", *wanted, "; it must be from ", least, " to ",
                      settings.max_tokens);
  }
  return *wanted;
}

// Text i of `fields`, or the part of a pair that `part` names.
absl::Status CheckTextBytes(const TextFields& fields, size_t i, absl::string_view part,
                            absl::string_view text, const ServerOptions& options) {
  if (static_cast<int64_t>(text.size()) <= options.max_text_bytes) return absl::OkStatus();
  return FieldError(absl::StrCat(fields.TextName(i), part), " has ", text.size(),
                    " bytes; the limit is ", options.max_text_bytes);
}

void RecordTokens(const std::vector<Encoding>& encodings, const TimeRange& time, const Call& call) {
  if (call.record() == nullptr) return;
  int64_t tokens = 0;
  int64_t truncated = 0;
  for (const Encoding& encoding : encodings) {
    tokens += encoding.size();
    truncated += encoding.truncated ? 1 : 0;
  }
  call.record()->AddInputs(static_cast<int64_t>(encodings.size()), tokens);
  call.record()->Tokenized(time, truncated);
}

// Turns each of `inputs` into tokens by encode(input, options). `specials` as above.
template <typename Input, typename Encode>
absl::StatusOr<std::vector<Encoding>> TokenizeEach(const TextFields& fields,
                                                   absl::Span<const Input> inputs,
                                                   const TokenizeSettings& settings,
                                                   int64_t specials, const Call& call,
                                                   Encode encode) {
  const TokenizePolicy& policy = settings.policy;
  TokenizeOptions tokenize;
  ATTUNE_ASSIGN_OR_RETURN(tokenize.max_tokens, ResolveMaxTokens(fields, settings, specials));
  tokenize.truncation_side =
      policy.truncation == TruncationPolicy::kLeft ? TruncationSide::kLeft : TruncationSide::kRight;
  tokenize.add_special_tokens = settings.add_special_tokens;
  tokenize.specials_as_text = policy.specials_as_text;
  tokenize.offsets = settings.offsets;

  const absl::Time start = SteadyNow();
  std::vector<Encoding> encodings;
  encodings.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR(call.CheckWanted(SteadyNow()));
    absl::StatusOr<Encoding> encoding = encode(inputs[i], tokenize);
    if (!encoding.ok()) {
      return FieldError(fields.TextName(i), ": ", encoding.status().message());
    }
    if (encoding->truncated && policy.truncation == TruncationPolicy::kError) {
      return FieldError(fields.TextName(i), " has more than ", tokenize.max_tokens,
                        " tokens, which is the limit; shorten it or ask for truncation");
    }
    encodings.push_back(*std::move(encoding));
  }
  RecordTokens(encodings, {start, SteadyNow()}, call);
  return encodings;
}

}  // namespace

std::string TextFields::TextName(size_t index) const {
  return indexed ? absl::StrCat(texts, "[", index, "]") : std::string(texts);
}

absl::Status CheckItemCount(absl::string_view field, size_t items, const ServerOptions& options) {
  if (items == 0) return FieldError(field, " is empty");
  if (static_cast<int64_t>(items) > options.max_texts) {
    return FieldError(field, " has ", items, " elements; the limit is ", options.max_texts);
  }
  return absl::OkStatus();
}

absl::Status CheckTexts(const TextFields& fields, absl::Span<const absl::string_view> texts,
                        const ServerOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckItemCount(fields.texts, texts.size(), options));
  FieldErrors errors;
  for (size_t i = 0; i < texts.size(); ++i) {
    errors.Add(CheckTextBytes(fields, i, "", texts[i], options));
  }
  return errors.Combined();
}

absl::Status CheckTextPairs(const TextFields& fields, absl::Span<const TextPair> pairs,
                            const ServerOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckItemCount(fields.texts, pairs.size(), options));
  FieldErrors errors;
  for (size_t i = 0; i < pairs.size(); ++i) {
    errors.Add(CheckTextBytes(fields, i, ".first", pairs[i].first, options));
    errors.Add(CheckTextBytes(fields, i, ".second", pairs[i].second, options));
  }
  return errors.Combined();
}

int64_t TotalBytes(absl::Span<const absl::string_view> texts) {
  int64_t bytes = 0;
  for (absl::string_view text : texts) bytes += static_cast<int64_t>(text.size());
  return bytes;
}

int64_t TotalBytes(absl::Span<const TextPair> pairs) {
  int64_t bytes = 0;
  for (const TextPair& pair : pairs) {
    bytes += static_cast<int64_t>(pair.first.size() + pair.second.size());
  }
  return bytes;
}

absl::Status CheckTokenLimit(const TextFields& fields, const TokenizeSettings& settings,
                             const Tokenizer& tokenizer) {
  return ResolveMaxTokens(fields, settings, tokenizer.special_tokens_per_text()).status();
}

absl::StatusOr<std::vector<Encoding>> TokenizeTexts(const TextFields& fields,
                                                    absl::Span<const absl::string_view> texts,
                                                    const TokenizeSettings& settings,
                                                    const Tokenizer& tokenizer, const Call& call) {
  return TokenizeEach(fields, texts, settings, tokenizer.special_tokens_per_text(), call,
                      [&tokenizer](absl::string_view text, const TokenizeOptions& options) {
                        return tokenizer.Encode(text, options);
                      });
}

absl::StatusOr<std::vector<Encoding>> TokenizeTextPairs(const TextFields& fields,
                                                        absl::Span<const TextPair> pairs,
                                                        const TokenizeSettings& settings,
                                                        const Tokenizer& tokenizer,
                                                        const Call& call) {
  return TokenizeEach(fields, pairs, settings, tokenizer.special_tokens_per_pair(), call,
                      [&tokenizer](const TextPair& pair, const TokenizeOptions& options) {
                        return tokenizer.EncodePair(pair.first, pair.second, options);
                      });
}

}  // namespace attune
