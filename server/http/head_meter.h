#ifndef ATTUNE_SERVER_HTTP_HEAD_METER_H_
#define ATTUNE_SERVER_HTTP_HEAD_METER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace attune {

// Measures the head of a request, its first line and its headers (RFC 9112, section 2.1), as the
// bytes are taken, so that too many or too long ones are told from malformed ones. httplib's
// parser, which bounds them too, answers both alike or not at all, and not every version has every
// bound; these are the least of any.
class HeadMeter {
 public:
  static constexpr int64_t kMaxLineBytes = 8192;  // with the end of the line
  static constexpr int64_t kMaxHeaders = 100;

  enum class Excess { kNone, kFirstLine, kHeader, kHeaders };

  // For people: what is too much, and its limit. REQUIRES: not kNone.
  static std::string Describe(Excess excess);

  // Takes the next bytes, and tells what passes its limit with them. What follows the head has
  // none.
  Excess Take(absl::string_view bytes);

 private:
  Excess TakeOne(char byte);
  Excess EndLine(bool blank);

  bool in_headers_ = false;
  bool past_head_ = false;
  int64_t headers_ = 0;     // complete ones
  int64_t line_bytes_ = 0;  // of the line that is being taken
  char last_ = '\0';
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_HEAD_METER_H_
