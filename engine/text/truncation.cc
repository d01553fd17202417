#include "engine/text/truncation.h"

#include <algorithm>
#include <utility>

namespace attune {

PairLengths TruncateLongestFirst(PairLengths tokens, int64_t room) {
  if (tokens.first + tokens.second <= room) return tokens;
  const bool first_is_longer = tokens.first > tokens.second;
  int64_t shorter = std::min(tokens.first, tokens.second);
  int64_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  return first_is_longer ? PairLengths{longer, shorter} : PairLengths{shorter, longer};
}

}  // namespace attune
