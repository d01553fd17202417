#ifndef ATTUNE_SERVER_STATUS_MESSAGE_H_
#define ATTUNE_SERVER_STATUS_MESSAGE_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace attune {

inline constexpr size_t kMaxMessageBytes = 2048;

// The first `max_bytes` of an error message, cut at a character border, so that no transport's
// limit on trailers or headers is met. Borrows.
absl::string_view CutMessage(absl::string_view message, size_t max_bytes = kMaxMessageBytes);

}  // namespace attune

#endif  // ATTUNE_SERVER_STATUS_MESSAGE_H_
