#ifndef ATTUNE_SERVER_HTTP_HTTP_STATUS_H_
#define ATTUNE_SERVER_HTTP_HTTP_STATUS_H_

#include "absl/status/status.h"

namespace attune {

// The HTTP status of an RPC's outcome, as google.rpc.Code documents it; RESOURCE_EXHAUSTED is 429,
// a cancelled call 499, which no client is left to see.
int HttpStatusOf(absl::StatusCode code);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_HTTP_STATUS_H_
