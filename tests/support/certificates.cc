#include "tests/support/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "engine/base/check.h"
#include "server/security/openssl_ptr.h"

namespace attune::testing {
namespace {

std::string Contents(const BioPtr& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

std::string ToPem(X509& certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  ATTUNE_CHECK(PEM_write_bio_X509(bio.get(), &certificate) == 1);
  return Contents(bio);
}

std::string ToPem(EVP_PKEY& key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  ATTUNE_CHECK(PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) ==
               1);
  return Contents(bio);
}

void AddExtension(X509& certificate, int nid, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
  ATTUNE_CHECK(extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Everything but names, extensions and the signature.
CertificatePtr NewCertificate(EVP_PKEY& key, const Validity& validity) {
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  unsigned char serial[8];
  ATTUNE_CHECK(RAND_bytes(serial, sizeof(serial)) == 1);
  uint64_t number = 0;
  for (const unsigned char byte : serial) number = number << 8 | byte;
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), number);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(validity.from));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(validity.until));
  X509_set_pubkey(certificate.get(), &key);
  return certificate;
}

void SetName(X509_NAME* name, const std::string& common_name) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
}

void Sign(X509& certificate, EVP_PKEY& key) {
  ATTUNE_CHECK(X509_sign(&certificate, &key, EVP_sha256()) > 0);
}

}  // namespace

struct TestAuthority::State {
  KeyPtr key = KeyPtr(EVP_EC_gen("P-256"));
  CertificatePtr certificate;
  std::string pem;
};

TestAuthority::TestAuthority()
    : state_([] {
        auto state = std::make_unique<State>();
        state->certificate = NewCertificate(*state->key, Validity());
        X509& certificate = *state->certificate;
        SetName(X509_get_subject_name(&certificate), "attune's test authority");
        SetName(X509_get_issuer_name(&certificate), "attune's test authority");
        AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
        AddExtension(certificate, NID_key_usage, "critical,keyCertSign");
        Sign(certificate, *state->key);
        state->pem = ToPem(certificate);
        return state;
      }()) {}

TestAuthority::~TestAuthority() = default;

const std::string& TestAuthority::certificate() const { return state_->pem; }

KeyPair TestAuthority::Issue(const Validity& validity) const {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr certificate = NewCertificate(*key, validity);
  SetName(X509_get_subject_name(certificate.get()), "localhost");
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(state_->certificate.get()));
  AddExtension(*certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  Sign(*certificate, *state_->key);
  return {ToPem(*certificate), ToPem(*key)};
}

std::string EncryptKey(const std::string& key, const std::string& password) {
  const BioPtr in(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  const KeyPtr parsed(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  const BioPtr out(BIO_new(BIO_s_mem()));
  ATTUNE_CHECK(PEM_write_bio_PKCS8PrivateKey(out.get(), parsed.get(), EVP_aes_256_cbc(),
                                             password.data(), static_cast<int>(password.size()),
                                             nullptr, nullptr) == 1);
  return Contents(out);
}

}  // namespace attune::testing
