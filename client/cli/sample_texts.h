// Texts to put load on a server with, when the user brings none.
#ifndef ATTUNE_CLIENT_CLI_SAMPLE_TEXTS_H_
#define ATTUNE_CLIENT_CLI_SAMPLE_TEXTS_H_

#include <random>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune::cli {

// How many words a text has: `min` to `max`, uniformly; or, if `mixed`, mostly few and now and then
// many: log-normally with a median of 18 and a sigma of 0.9, clipped to the range.
struct WordRange {
  int min = 5;
  int max = 40;
  bool mixed = false;
};

// "5-40", "7" for 7-7, or "mixed" for the log-normal kind, of 2 to 380 words, which are about 4 to
// 512 tokens. kInvalidArgument unless 1 <= MIN <= MAX <= 10,000.
absl::StatusOr<WordRange> ParseWordRange(absl::string_view text);

// Consecutive words of a public-domain book, from a random place on, wrapping around at its end.
std::string SampleText(const WordRange& range, std::mt19937_64& random);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_SAMPLE_TEXTS_H_
