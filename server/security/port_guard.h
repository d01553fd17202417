#ifndef ATTUNE_SERVER_SECURITY_PORT_GUARD_H_
#define ATTUNE_SERVER_SECURITY_PORT_GUARD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/security/authenticator.h"
#include "server/security/tls_identity_store.h"
#include "server/server_options.h"

namespace attune {

// What stands between the network and the calls, the same on every port.
struct PortGuard {
  std::unique_ptr<TlsIdentityStore> tls;  // null: plaintext
  std::unique_ptr<Authenticator> authenticator;
};

// As `options` ask for it. Errors name the flag and the file.
absl::StatusOr<PortGuard> OpenPortGuard(const ServerOptions& options);

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_PORT_GUARD_H_
