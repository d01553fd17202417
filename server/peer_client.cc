#include "server/peer_client.h"

#include "absl/strings/strip.h"

namespace attune {

std::string ClientOfPeer(absl::string_view peer) {
  if (!absl::ConsumePrefix(&peer, "ipv4:") && !absl::ConsumePrefix(&peer, "ipv6:")) {
    return std::string(peer);
  }
  peer = peer.substr(0, peer.rfind(':'));
  // gRPC writes the brackets as they are or percent-encoded, depending on its version.
  if (absl::ConsumePrefix(&peer, "[") || absl::ConsumePrefix(&peer, "%5B")) {
    if (!absl::ConsumeSuffix(&peer, "]")) absl::ConsumeSuffix(&peer, "%5D");
  }
  return std::string(peer);
}

}  // namespace attune
