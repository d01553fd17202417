#include "server/http/host_port.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace attune {

std::optional<HostPort> SplitHostPort(absl::string_view text) {
  HostPort result;
  absl::string_view rest;
  if (absl::ConsumePrefix(&text, "[")) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) return std::nullopt;
    result.host = std::string(text.substr(0, end));
    rest = text.substr(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    result.host = std::string(text.substr(0, end));
    rest = text.substr(end);
  }
  if (!rest.empty() && !absl::ConsumePrefix(&rest, ":")) return std::nullopt;
  if (result.host.empty() || !std::all_of(rest.begin(), rest.end(), absl::ascii_isdigit)) {
    return std::nullopt;
  }
  result.port = std::string(rest);
  return result;
}

bool IsLoopbackHost(absl::string_view host) {
  if (absl::EqualsIgnoreCase(host, "localhost") || absl::EndsWithIgnoreCase(host, ".localhost")) {
    return true;
  }
  const std::string name(host);
  in_addr v4 = {};
  // The whole name must be an address: 127.0.0.1.example.com is somebody else's.
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6 = {};
  return inet_pton(AF_INET6, name.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsLoopbackAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const std::optional<HostPort> parts = SplitHostPort(address);
  return parts.has_value() && IsLoopbackHost(parts->host);
}

}  // namespace attune
