#ifndef ATTUNE_SERVER_HTTP_HOST_PORT_H_
#define ATTUNE_SERVER_HTTP_HOST_PORT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace attune {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;  // digits; may be empty
};

// Splits "host:port", "host", "[::1]:port" and "[::1]". Nothing for what is none of these.
std::optional<HostPort> SplitHostPort(absl::string_view text);

// Whether `host` can only mean this machine: "localhost", names below it, 127.x.y.z and ::1.
bool IsLoopbackHost(absl::string_view host);

// Whether `address`, HOST:PORT or gRPC's "unix:PATH", can only be reached from this machine.
bool IsLoopbackAddress(absl::string_view address);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_HOST_PORT_H_
