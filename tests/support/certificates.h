// Certificates for tests, made when they run: none is stored that could expire, or be trusted.
#ifndef ATTUNE_TESTS_SUPPORT_CERTIFICATES_H_
#define ATTUNE_TESTS_SUPPORT_CERTIFICATES_H_

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace attune::testing {

// In PEM form.
struct KeyPair {
  std::string certificate;
  std::string key;
};

struct Validity {
  absl::Time from = absl::Now() - absl::Hours(1);
  absl::Time until = absl::Now() + absl::Hours(1);
};

// Signs certificates for localhost and 127.0.0.1, good for servers and clients.
class TestAuthority {
 public:
  TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;
  ~TestAuthority();

  // Its own certificate (PEM), for those who are to trust it.
  const std::string& certificate() const;
  // A certificate for a new key.
  KeyPair Issue(const Validity& validity = {}) const;

 private:
  struct State;
  const std::unique_ptr<const State> state_;
};

// The same key, so that only its owner's password opens it.
std::string EncryptKey(const std::string& key, const std::string& password);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_CERTIFICATES_H_
