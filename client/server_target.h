// What ClientOptions::address names, one server or several.
#ifndef ATTUNE_CLIENT_SERVER_TARGET_H_
#define ATTUNE_CLIENT_SERVER_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

struct ServerTarget {
  // In the words of gRPC.
  std::string target;
  // What requests call the server (`:authority`), if `target` has no one name for it; else empty.
  std::string authority;
};

// `address` is HOST:PORT or any other gRPC target, which are taken as they are, or a list:
// "10.0.0.1:50051,10.0.0.2:50051", "[fd00::1]:50051,[fd00::2]:50051", with or without gRPC's own
// "ipv4:" or "ipv6:" before it. gRPC resolves one name, not a list of them, so the list takes only
// IP addresses, all of one family. kInvalidArgument naming what is not one.
absl::StatusOr<ServerTarget> ParseServerAddress(absl::string_view address);

}  // namespace attune

#endif  // ATTUNE_CLIENT_SERVER_TARGET_H_
