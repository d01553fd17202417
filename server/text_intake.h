// The first stage of a request: are its texts within the limits, and what are their tokens.
#ifndef ATTUNE_SERVER_TEXT_INTAKE_H_
#define ATTUNE_SERVER_TEXT_INTAKE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/text/tokenizer.h"
#include "server/call.h"
#include "server/requests.h"
#include "server/server_options.h"

namespace attune {

// How an error names the parts of a request.
struct TextFields {
  absl::string_view texts;       // "texts.values"; text i is "texts.values[i]"
  bool indexed = true;           // false: there is one text, and `texts` names it
  absl::string_view max_tokens;  // "options.max_tokens"

  std::string TextName(size_t index) const;
};

// Whether there is at least one text, and not too many or too large ones. Costs a glance at each
// size. kInvalidArgument names the field, the value and the limit.
absl::Status CheckTexts(const TextFields& fields, absl::Span<const absl::string_view> texts,
                        const ServerOptions& options);

// Whether a list of `items` is neither empty nor too long.
absl::Status CheckItemCount(absl::string_view field, size_t items, const ServerOptions& options);

// The same for pairs of texts.
absl::Status CheckTextPairs(const TextFields& fields, absl::Span<const TextPair> pairs,
                            const ServerOptions& options);

int64_t TotalBytes(absl::Span<const absl::string_view> texts);
int64_t TotalBytes(absl::Span<const TextPair> pairs);

// How texts are tokenised.
struct TokenizeSettings {
  TokenizePolicy policy;
  // Tokens per text where the policy does not say, and the most that it may say.
  int64_t max_tokens = 0;
  bool add_special_tokens = true;
  bool offsets = false;
};

// Whether the limit that the policy sets for single texts is one that it may set.
absl::Status CheckTokenLimit(const TextFields& fields, const TokenizeSettings& settings,
                             const Tokenizer& tokenizer);

// Tokenises each text as `settings` say. kInvalidArgument for a limit out of range, invalid UTF-8,
// or a text over the limit when truncation is kError; kCancelled / kDeadlineExceeded when `call`
// ends meanwhile.
absl::StatusOr<std::vector<Encoding>> TokenizeTexts(const TextFields& fields,
                                                    absl::Span<const absl::string_view> texts,
                                                    const TokenizeSettings& settings,
                                                    const Tokenizer& tokenizer, const Call& call);
// The same for pairs, each of which becomes one encoding.
absl::StatusOr<std::vector<Encoding>> TokenizeTextPairs(const TextFields& fields,
                                                        absl::Span<const TextPair> pairs,
                                                        const TokenizeSettings& settings,
                                                        const Tokenizer& tokenizer,
                                                        const Call& call);

}  // namespace attune

#endif  // ATTUNE_SERVER_TEXT_INTAKE_H_
