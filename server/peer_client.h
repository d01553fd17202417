#ifndef ATTUNE_SERVER_PEER_CLIENT_H_
#define ATTUNE_SERVER_PEER_CLIENT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace attune {

// Whose a call is, going by the peer as gRPC names it: the address without the port, so that all
// connections of a machine are one client. "ipv4:10.0.0.1:4711" is "10.0.0.1",
// "ipv6:%5Bfe80::1%5D:4711" is "fe80::1"; what has no port ("unix:/run/attune") is left alone.
std::string ClientOfPeer(absl::string_view peer);

}  // namespace attune

#endif  // ATTUNE_SERVER_PEER_CLIENT_H_
