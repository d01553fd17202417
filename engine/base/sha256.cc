#include "engine/base/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"
#include "engine/base/check.h"

namespace attune {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  ATTUNE_CHECK(state_->context != nullptr);
  ATTUNE_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(absl::string_view bytes) {
  ATTUNE_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::HexDigest() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ATTUNE_CHECK(EVP_DigestFinal_ex(state_->context, digest, &size) == 1);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.HexDigest();
}

}  // namespace attune
