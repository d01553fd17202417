#include "server/http/socket.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

namespace attune {
namespace {

// `moved` is what recv or send returned; `event` what it would have waited for.
Socket::Result PlainResult(ssize_t moved, short event) {
  if (moved > 0) return {static_cast<size_t>(moved), 0};
  const bool again = moved < 0 && (errno == EAGAIN || errno == EINTR);
  return {0, again ? event : short{0}};
}

}  // namespace

void Socket::SslDeleter::operator()(SSL* ssl) const { SSL_free(ssl); }

Socket::Socket(FileDescriptor fd, SSL_CTX* tls) : fd_(std::move(fd)) {
  if (tls == nullptr) return;
  // OpenSSL reads and writes without the flags that keep recv and send from waiting.
  fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  ssl_.reset(SSL_new(tls));
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), fd_.get()) != 1) throw std::bad_alloc();
  SSL_set_accept_state(ssl_.get());
}

Socket::Result Socket::TlsResult(int returned, size_t bytes) {
  if (returned == 1) return {bytes, 0};
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {0, POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {0, POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return {};
    default:
      broken_ = true;
      return {};
  }
}

Socket::Result Socket::Receive(char* data, size_t size) {
  if (ssl_ == nullptr) return PlainResult(recv(fd_.get(), data, size, MSG_DONTWAIT), POLLIN);
  ERR_clear_error();  // SSL_get_error looks at it
  size_t bytes = 0;
  const int returned = SSL_read_ex(ssl_.get(), data, size, &bytes);
  return TlsResult(returned, bytes);
}

Socket::Result Socket::Send(const char* data, size_t size) {
  if (ssl_ == nullptr) {
    return PlainResult(send(fd_.get(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT), POLLOUT);
  }
  ERR_clear_error();
  size_t bytes = 0;
  const int returned = SSL_write_ex(ssl_.get(), data, size, &bytes);
  return TlsResult(returned, bytes);
}

bool Socket::has_decrypted() const { return ssl_ != nullptr && SSL_pending(ssl_.get()) > 0; }

void Socket::FinishSending() {
  // Whoever got all of a reply can tell by this that nobody cut it.
  if (ssl_ != nullptr && !broken_ && SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  shutdown(fd_.get(), SHUT_WR);
}

Socket::Result Socket::Discard(char* scratch, size_t size) {
  return PlainResult(recv(fd_.get(), scratch, size, MSG_DONTWAIT), POLLIN);
}

}  // namespace attune
