// What the server said about an error besides its code and message.
#ifndef ATTUNE_CLIENT_ERROR_DETAILS_H_
#define ATTUNE_CLIENT_ERROR_DETAILS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace attune {

// Why, as a name of the server's closed list ("QUEUE_FULL"), if it gave one. Comes from the
// network, as messages do.
std::optional<std::string> ReasonOfError(const absl::Status& status);

// How long to wait before trying again, if that helps. The client's own retries have waited so
// already.
std::optional<absl::Duration> RetryDelayOfError(const absl::Status& status);

namespace internal {

// `status`, details included, with another message.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

}  // namespace internal

}  // namespace attune

#endif  // ATTUNE_CLIENT_ERROR_DETAILS_H_
