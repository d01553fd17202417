#include "client/server_target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace attune {
namespace {

constexpr char kIpv4[] = "ipv4:";
constexpr char kIpv6[] = "ipv6:";

bool IsPort(absl::string_view text) {
  uint32_t port = 0;
  // SimpleAtoi takes blanks and signs, too.
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &port) && port >= 1 && port <= 65535;
}

// gRPC's scheme for IP:PORT or [IP]:PORT; nullopt if it is neither.
std::optional<absl::string_view> SchemeOf(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || !IsPort(address.substr(colon + 1))) return std::nullopt;
  absl::string_view host = address.substr(0, colon);
  in_addr v4;
  if (inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1) return kIpv4;
  in6_addr v6;
  if (absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]") &&
      inet_pton(AF_INET6, std::string(host).c_str(), &v6) == 1) {
    return kIpv6;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ServerTarget> ParseServerAddress(absl::string_view address) {
  if (address.empty()) return absl::InvalidArgumentError("address is empty; give HOST:PORT");
  if (!absl::StrContains(address, ',')) return ServerTarget{std::string(address), ""};
  if (!absl::ConsumePrefix(&address, kIpv4)) absl::ConsumePrefix(&address, kIpv6);
  const std::vector<absl::string_view> servers = absl::StrSplit(address, ',');
  const std::optional<absl::string_view> scheme = SchemeOf(servers.front());
  for (const absl::string_view server : servers) {
    const std::optional<absl::string_view> own_scheme = SchemeOf(server);
    if (!own_scheme) {
      return absl::InvalidArgumentError(
          absl::StrCat("address has \"", server,
                       "\" in a list of servers; it must be IP:PORT or [IPv6]:PORT (names are not "
                       "taken there, but one name alone may resolve to several servers)"));
    }
    if (own_scheme != scheme) {
      return absl::InvalidArgumentError(absl::StrCat("address has \"", servers.front(), "\" and \"",
                                                     server, "\": a list is all IPv4 or all IPv6"));
    }
  }
  // A target is a URI, which has brackets only around its host.
  return ServerTarget{absl::StrCat(*scheme, absl::StrReplaceAll(absl::StrJoin(servers, ","),
                                                                {{"[", "%5B"}, {"]", "%5D"}})),
                      std::string(servers.front())};
}

}  // namespace attune
