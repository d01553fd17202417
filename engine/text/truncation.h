// How many tokens of each text stay when a pair is too long.
#ifndef ATTUNE_ENGINE_TEXT_TRUNCATION_H_
#define ATTUNE_ENGINE_TEXT_TRUNCATION_H_

#include <cstdint>

namespace attune {

struct PairLengths {
  int64_t first = 0;
  int64_t second = 0;
  friend bool operator==(const PairLengths&, const PairLengths&) = default;
};

// Longest-first truncation, as the reference does it: the longer text is cut down to the shorter
// one; if that is not enough, each keeps half of `room`, the longer text (or, of equals, the
// second) the odd token.
PairLengths TruncateLongestFirst(PairLengths tokens, int64_t room);

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_TRUNCATION_H_
