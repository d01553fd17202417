#include "server/security/port_guard.h"

#include "engine/base/status_macros.h"

namespace attune {

absl::StatusOr<PortGuard> OpenPortGuard(const ServerOptions& options) {
  PortGuard guard;
  if (!options.tls_cert.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(guard.tls, TlsIdentityStore::Open({options.tls_cert, options.tls_key,
                                                               options.tls_client_ca}));
  }
  ATTUNE_ASSIGN_OR_RETURN(guard.authenticator, Authenticator::Open(options.token_file));
  return guard;
}

}  // namespace attune
