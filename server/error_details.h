// What an error says for programs, carried inside the absl::Status by every layer of the server.
//
// Each detail is a payload of the status: a message of google/rpc/error_details.proto, serialized,
// under its type URL. ToRpcStatus (server/rpc_status.h) makes of them what is sent.
#ifndef ATTUNE_SERVER_ERROR_DETAILS_H_
#define ATTUNE_SERVER_ERROR_DETAILS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/error_reason.h"

namespace attune {

// Names and values, in snake_case and without input text.
using ErrorMetadata = std::vector<std::pair<std::string, std::string>>;

// `error` with an ErrorInfo.
absl::Status WithReason(absl::Status error, ErrorReason reason, const ErrorMetadata& metadata = {});

// The name of WithReason's reason, or "".
std::string ReasonOf(const absl::Status& error);

// `error` with a RetryInfo: it helps to try again, after `delay` (RetryDelay gives one).
absl::Status WithRetryDelay(absl::Status error, absl::Duration delay);

// The delay of WithRetryDelay, or nothing if trying again does not help.
std::optional<absl::Duration> RetryDelayOf(const absl::Status& error);

// `error`, details included, with another message.
absl::Status WithMessage(const absl::Status& error, absl::string_view message);

// A limit that all requests share.
struct SharedLimit {
  // The flag that sets it, without dashes in front. Times are in milliseconds.
  absl::string_view name;
  int64_t limit = 0;
  int64_t used = 0;
  // By the request that does not fit.
  int64_t wanted = 0;
};

// kResourceExhausted with ErrorInfo, QuotaFailure and RetryInfo. `message` says what is full, and
// all figures.
absl::Status LimitReached(ErrorReason reason, const SharedLimit& limit, absl::string_view message,
                          absl::Duration delay);

}  // namespace attune

#endif  // ATTUNE_SERVER_ERROR_DETAILS_H_
