#ifndef ATTUNE_SERVER_STATUS_MESSAGE_H_
#define ATTUNE_SERVER_STATUS_MESSAGE_H_

#include "absl/strings/string_view.h"

namespace attune {

// The first 2 KiB of an error message, cut at a character border, so that no transport's limit on
// trailers or headers is met. Borrows.
absl::string_view CutMessage(absl::string_view message);

}  // namespace attune

#endif  // ATTUNE_SERVER_STATUS_MESSAGE_H_
