#include "tests/support/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "engine/base/check.h"
#include "server/security/openssl_ptr.h"

namespace attune::testing {
namespace {

using Context = std::unique_ptr<SSL_CTX, OpensslDeleter<SSL_CTX_free>>;

BioPtr Open(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

CertificatePtr ParseCertificate(const std::string& pem) {
  return CertificatePtr(PEM_read_bio_X509(Open(pem).get(), nullptr, nullptr, nullptr));
}

Context NewContext(const TlsClientOptions& options) {
  Context context(SSL_CTX_new(TLS_client_method()));
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()),
                      ParseCertificate(options.authority).get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (options.identity.has_value()) {
    const KeyPtr key(
        PEM_read_bio_PrivateKey(Open(options.identity->key).get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(context.get(), ParseCertificate(options.identity->certificate).get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
  }
  if (options.only_tls_1_1) {
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_1_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), TLS1_1_VERSION);
  }
  return context;
}

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ATTUNE_CHECK(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return fd;
}

}  // namespace

struct TlsConnection::State {
  Context context;
  int fd = -1;
  std::unique_ptr<SSL, OpensslDeleter<SSL_free>> ssl;
  bool connected = false;
};

TlsConnection::TlsConnection(int port, const TlsClientOptions& options)
    : state_(std::make_unique<State>()) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the server has closed
  state_->context = NewContext(options);
  state_->fd = Connect(port);
  state_->ssl.reset(SSL_new(state_->context.get()));
  // gRPC wants to hear that this is HTTP/2; others do not mind.
  static constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
  SSL_set_alpn_protos(state_->ssl.get(), kProtocols, sizeof(kProtocols) - 1);
  SSL_set_fd(state_->ssl.get(), state_->fd);
  state_->connected = SSL_connect(state_->ssl.get()) == 1;
}

TlsConnection::~TlsConnection() { close(state_->fd); }

bool TlsConnection::connected() const { return state_->connected; }

std::string TlsConnection::server_certificate() const {
  const CertificatePtr certificate(SSL_get1_peer_certificate(state_->ssl.get()));
  if (certificate == nullptr) return "";
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

void TlsConnection::Send(const std::string& bytes) {
  if (connected()) SSL_write(state_->ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsConnection::ReadAll() {
  std::string bytes;
  char buffer[16384];
  while (connected()) {
    const int n = SSL_read(state_->ssl.get(), buffer, sizeof(buffer));
    if (n <= 0) break;
    bytes.append(buffer, static_cast<size_t>(n));
  }
  return bytes;
}

HttpReply SendTlsRequest(int port, const TlsClientOptions& options, const std::string& request) {
  TlsConnection connection(port, options);
  connection.Send(request);
  return ParseReply(connection.ReadAll());
}

}  // namespace attune::testing
