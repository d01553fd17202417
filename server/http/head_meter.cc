#include "server/http/head_meter.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace attune {

std::string HeadMeter::Describe(Excess excess) {
  if (excess == Excess::kHeaders) {
    return absl::StrCat("there are more than ", kMaxHeaders, " headers");
  }
  return absl::StrCat(excess == Excess::kFirstLine ? "the first line of the request" : "a header",
                      " has more than ", kMaxLineBytes, " bytes");
}

HeadMeter::Excess HeadMeter::Take(absl::string_view bytes) {
  for (const char byte : bytes) {
    if (past_head_) break;
    if (const Excess excess = TakeOne(byte); excess != Excess::kNone) return excess;
  }
  return Excess::kNone;
}

HeadMeter::Excess HeadMeter::TakeOne(char byte) {
  const char before = std::exchange(last_, byte);
  if (++line_bytes_ > kMaxLineBytes) return in_headers_ ? Excess::kHeader : Excess::kFirstLine;
  return byte == '\n' ? EndLine(/*blank=*/line_bytes_ == 2 && before == '\r') : Excess::kNone;
}

HeadMeter::Excess HeadMeter::EndLine(bool blank) {
  line_bytes_ = 0;
  if (!std::exchange(in_headers_, true)) return Excess::kNone;  // that was the first line
  past_head_ = blank;
  if (!blank) ++headers_;
  return headers_ > kMaxHeaders ? Excess::kHeaders : Excess::kNone;
}

}  // namespace attune
