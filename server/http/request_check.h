// What is decided by the headers of a request alone, before its body is read.
#ifndef ATTUNE_SERVER_HTTP_REQUEST_CHECK_H_
#define ATTUNE_SERVER_HTTP_REQUEST_CHECK_H_

#include <httplib.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/security/authenticator.h"

namespace attune {

struct Refusal {
  int http_status = 0;
  absl::Status status;
};

// Whether a page of somebody else's could have sent this: on a loopback address only requests for a
// loopback name are served, since a name that an attacker controls may resolve to 127.0.0.1 (DNS
// rebinding).
std::optional<Refusal> CheckHost(const httplib::Request& request);

// The name of the one whose bearer token the request carries, "" if `authenticator` asks for none.
absl::StatusOr<std::string> FindTokenHolder(const httplib::Request& request,
                                            const Authenticator& authenticator);

// The body of a GET or HEAD: there must be none.
std::optional<Refusal> CheckNoBody(const httplib::Request& request);

// The body of a POST: JSON, not compressed, of a stated length of at most `max_bytes`. Asking for
// application/json also keeps other sites' pages out, whose requests may have only the types of a
// form unless we allow more.
std::optional<Refusal> CheckJsonBody(const httplib::Request& request, int64_t max_bytes);

// Content-Length of a request that CheckJsonBody let pass.
int64_t BodyBytes(const httplib::Request& request);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_REQUEST_CHECK_H_
