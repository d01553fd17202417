// OpenSSL's objects as owners that free them.
#ifndef ATTUNE_SERVER_SECURITY_OPENSSL_PTR_H_
#define ATTUNE_SERVER_SECURITY_OPENSSL_PTR_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace attune {

template <auto Free>
struct OpensslDeleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, OpensslDeleter<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, OpensslDeleter<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_OPENSSL_PTR_H_
