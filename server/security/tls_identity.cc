#include "server/security/tls_identity.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <ctime>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/file_reader.h"
#include "engine/base/status_macros.h"
#include "server/security/openssl_ptr.h"

namespace attune {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 20;

// A flag and its file, for messages.
std::string Name(absl::string_view flag, absl::string_view path) {
  return absl::StrCat("--", flag, " ", path);
}

absl::Status Wrong(absl::string_view name, absl::string_view what) {
  ERR_clear_error();  // its entries would blame the next call on this thread
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

absl::StatusOr<std::string> ReadPem(const std::string& path, absl::string_view name) {
  absl::StatusOr<std::string> pem = ReadFile(path, kMaxFileBytes);
  if (pem.ok()) return pem;
  return absl::Status(pem.status().code(), absl::StrCat(name, ": ", pem.status().message()));
}

BioPtr Open(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// OpenSSL's own would ask the terminal.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

absl::StatusOr<std::vector<CertificatePtr>> ParseCertificates(const std::string& pem,
                                                              absl::string_view name) {
  const BioPtr bio = Open(pem);
  std::vector<CertificatePtr> certificates;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(next);
  }
  // The end of the file is an error as well, and the only one that there should be.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty()) return Wrong(name, "there is no certificate in PEM form");
  if (!at_end) return Wrong(name, "a certificate after the first cannot be read");
  ERR_clear_error();
  return certificates;
}

absl::StatusOr<KeyPtr> ParseKey(const std::string& pem, absl::string_view name) {
  KeyPtr key(PEM_read_bio_PrivateKey(Open(pem).get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Wrong(name, "there is no unencrypted private key in PEM form");
  return key;
}

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time, absl::string_view name) {
  std::tm utc = {};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return Wrong(name, "its dates cannot be read");
  return absl::FromTM(utc, absl::UTCTimeZone());
}

std::string Show(absl::Time time) { return absl::FormatTime(time, absl::UTCTimeZone()); }

// Until when the certificate is valid, if it is so now.
absl::StatusOr<absl::Time> CheckCurrent(const X509& certificate, absl::Time now,
                                        absl::string_view name) {
  ATTUNE_ASSIGN_OR_RETURN(const absl::Time begin, ToTime(X509_get0_notBefore(&certificate), name));
  ATTUNE_ASSIGN_OR_RETURN(const absl::Time end, ToTime(X509_get0_notAfter(&certificate), name));
  if (now < begin) {
    return Wrong(name, absl::StrCat("the certificate is valid only from ", Show(begin)));
  }
  if (now >= end) return Wrong(name, absl::StrCat("the certificate expired at ", Show(end)));
  return end;
}

absl::Status AskForClientCertificates(const std::vector<CertificatePtr>& authorities,
                                      SSL_CTX& context, absl::string_view name) {
  for (const CertificatePtr& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(&context, authority.get()) != 1) {
      return Wrong(name, "OpenSSL does not take one of the certificates");
    }
  }
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<SSL_CTX>> NewContext() {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return Wrong("TLS", "OpenSSL cannot make a context");
  }
  // A session that is resumed would skip what a newer client CA asks for.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  // A reply is written in as many pieces as the socket takes.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

absl::Status UseChain(const std::vector<CertificatePtr>& chain, SSL_CTX& context,
                      absl::string_view name) {
  // Refuses keys and signatures that are too weak for the system's security level.
  bool taken = SSL_CTX_use_certificate(&context, chain[0].get()) == 1;
  for (size_t i = 1; i < chain.size(); ++i) {
    taken = taken && SSL_CTX_add1_chain_cert(&context, chain[i].get()) == 1;
  }
  if (!taken) return Wrong(name, "OpenSSL does not take the certificate; its key may be too short");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsIdentity>> ReadTlsIdentity(const TlsFiles& files,
                                                                   absl::Time now) {
  const std::string certificate_name = Name("tls-cert", files.certificate);
  const std::string key_name = Name("tls-key", files.key);
  auto identity = std::make_shared<TlsIdentity>();
  ATTUNE_ASSIGN_OR_RETURN(identity->certificate_pem, ReadPem(files.certificate, certificate_name));
  ATTUNE_ASSIGN_OR_RETURN(identity->key_pem, ReadPem(files.key, key_name));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CertificatePtr> chain,
                          ParseCertificates(identity->certificate_pem, certificate_name));
  ATTUNE_ASSIGN_OR_RETURN(identity->expires, CheckCurrent(*chain[0], now, certificate_name));
  ATTUNE_ASSIGN_OR_RETURN(const KeyPtr key, ParseKey(identity->key_pem, key_name));
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    return Wrong(key_name, absl::StrCat("the key is not that of ", certificate_name));
  }

  ATTUNE_ASSIGN_OR_RETURN(identity->context, NewContext());
  ATTUNE_RETURN_IF_ERROR(UseChain(chain, *identity->context, certificate_name));
  if (SSL_CTX_use_PrivateKey(identity->context.get(), key.get()) != 1) {
    return Wrong(key_name, "OpenSSL does not take the key");
  }
  if (!files.client_ca.empty()) {
    const std::string name = Name("tls-client-ca", files.client_ca);
    ATTUNE_ASSIGN_OR_RETURN(identity->client_ca_pem, ReadPem(files.client_ca, name));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<CertificatePtr> authorities,
                            ParseCertificates(identity->client_ca_pem, name));
    ATTUNE_RETURN_IF_ERROR(AskForClientCertificates(authorities, *identity->context, name));
  }
  return identity;
}

}  // namespace attune
