// A TLS client that shows what it met, for tests of any port that speaks TLS.
#ifndef ATTUNE_TESTS_SUPPORT_TLS_CLIENT_H_
#define ATTUNE_TESTS_SUPPORT_TLS_CLIENT_H_

#include <memory>
#include <optional>
#include <string>

#include "tests/support/certificates.h"
#include "tests/support/http_client.h"

namespace attune::testing {

struct TlsClientOptions {
  std::string authority;  // PEM
  std::optional<KeyPair> identity = std::nullopt;
  bool only_tls_1_1 = false;
};

// A connection to 127.0.0.1 on which the handshake has been tried.
class TlsConnection {
 public:
  TlsConnection(int port, const TlsClientOptions& options);
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;
  ~TlsConnection();

  // Whether the handshake succeeded. With TLS 1.3 a server that does not like the client's
  // certificate says so afterwards, so also ask for a reply.
  bool connected() const;
  // The server's certificate (PEM).
  std::string server_certificate() const;

  // Sends all of it, unless the server closes.
  void Send(const std::string& bytes);
  // Everything until the server closes; "" too after an error.
  std::string ReadAll();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// An HTTP request over TLS; status 0 if there was no reply.
HttpReply SendTlsRequest(int port, const TlsClientOptions& options, const std::string& request);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_TLS_CLIENT_H_
