#ifndef ATTUNE_SERVER_SECURITY_TLS_IDENTITY_H_
#define ATTUNE_SERVER_SECURITY_TLS_IDENTITY_H_

#include <openssl/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace attune {

// The PEM files of a TLS server.
struct TlsFiles {
  std::string certificate;  // the server's own first, then the intermediate ones
  std::string key;          // not encrypted
  std::string client_ca;    // who signs clients' certificates; empty: clients need none
};

// What a server shows of itself, and asks of its clients, in a TLS handshake. Immutable.
struct TlsIdentity {
  // For gRPC, which makes contexts of its own. Like TlsFiles, the contents instead of the paths.
  std::string certificate_pem;
  std::string key_pem;
  std::string client_ca_pem;
  absl::Time expires;  // the server's own certificate
  // For OpenSSL: TLS 1.2 or later, verifying clients if there is a client CA. Shared by threads.
  std::shared_ptr<SSL_CTX> context;
};

// Reads the files and checks that they can be served at `now`: the certificate is current, the key
// is its own. kInvalidArgument, or the file system's error, naming the flag and the file; never
// anything of the key.
absl::StatusOr<std::shared_ptr<const TlsIdentity>> ReadTlsIdentity(const TlsFiles& files,
                                                                   absl::Time now);

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_TLS_IDENTITY_H_
