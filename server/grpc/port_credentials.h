#ifndef ATTUNE_SERVER_GRPC_PORT_CREDENTIALS_H_
#define ATTUNE_SERVER_GRPC_PORT_CREDENTIALS_H_

#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "engine/base/mutex.h"
#include "server/security/port_guard.h"

namespace attune {

// Puts a PortGuard before a gRPC port. Every call of every service, reflection and unknown methods
// too, needs a token if tokens are asked for; only health does not. A call without one is refused
// when its headers are read, before a byte of its message is parsed.
//
// gRPC's C++ credentials can do neither of two things that its C interface, which they wrap, can:
// check tokens on a port without TLS, and take an identity from memory at each handshake. (Their
// FileWatcherCertificateProvider would have to be shielded from pairs that do not match.)
class PortCredentials final : public grpc::ServerCredentials {
 public:
  // `guard` is borrowed. Both it and this object outlive the server that listens with them.
  explicit PortCredentials(const PortGuard& guard);

  // Not for a second opinion: what a call needs is decided here. Aborts.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& processor) override;

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override;

  grpc_server_credentials* NewCredentials();

  // What gRPC calls, on its threads; `self` is a PortCredentials.
  static grpc_ssl_certificate_config_reload_status FetchIdentity(
      void* self, grpc_ssl_server_certificate_config** config);
  static void CheckCall(void* self, grpc_auth_context* context, const grpc_metadata* metadata,
                        size_t metadata_count, grpc_process_auth_metadata_done_cb done,
                        void* user_data);

  const PortGuard& guard_;
  Mutex mu_;
  // The one that gRPC has.
  std::shared_ptr<const TlsIdentity> fetched_ ABSL_GUARDED_BY(mu_);
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_PORT_CREDENTIALS_H_
