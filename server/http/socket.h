#ifndef ATTUNE_SERVER_HTTP_SOCKET_H_
#define ATTUNE_SERVER_HTTP_SOCKET_H_

#include <openssl/types.h>

#include <cstddef>
#include <memory>

#include "server/http/listener.h"

namespace attune {

// A connected socket, in plaintext or under TLS, that never waits: what it cannot do now it names,
// for poll(). Move-only. Used by one thread.
class Socket {
 public:
  // Plaintext if `tls` is null; else the server's side of TLS, whose handshake is part of the first
  // Receive.
  Socket(FileDescriptor fd, SSL_CTX* tls);

  struct Result {
    // Moved if above 0. Else `wait_for` is what poll() should wait for before the next try; when
    // that is 0, the connection is over.
    size_t bytes = 0;
    short wait_for = 0;
  };
  Result Receive(char* data, size_t size);
  // A peer that has gone is no signal.
  Result Send(const char* data, size_t size);

  // Whether a Receive has something to give although poll() would wait.
  bool has_decrypted() const;

  // Nothing more will be sent. What is received afterwards is of no use but to be discarded.
  void FinishSending();
  // Takes up to `size` raw bytes that nobody wants; as Receive.
  Result Discard(char* scratch, size_t size);

  int fd() const { return fd_.get(); }

 private:
  struct SslDeleter {
    void operator()(SSL* ssl) const;
  };

  Result TlsResult(int returned, size_t bytes);

  FileDescriptor fd_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  bool broken_ = false;  // after a TLS error, even a farewell would be wrong
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_SOCKET_H_
