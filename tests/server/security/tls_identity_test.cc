#include "server/security/tls_identity.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace attune {
namespace {

using ::attune::testing::EncryptKey;
using ::attune::testing::KeyPair;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::attune::testing::TestAuthority;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class TlsIdentityTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const TlsIdentity>> Read(
      const KeyPair& pair, const std::optional<std::string>& client_ca = std::nullopt) {
    files_.Write("cert.pem", pair.certificate);
    files_.Write("key.pem", pair.key);
    if (client_ca.has_value()) files_.Write("ca.pem", *client_ca);
    return ReadTlsIdentity({files_.Path("cert.pem"), files_.Path("key.pem"),
                            client_ca.has_value() ? files_.Path("ca.pem") : ""},
                           absl::Now());
  }

  const TempDir files_;
  const TestAuthority authority_;
};

TEST_F(TlsIdentityTest, APairWithItsChainAndAClientAuthorityIsTaken) {
  KeyPair pair = authority_.Issue();
  pair.certificate += authority_.certificate();
  const auto identity = Read(pair, authority_.certificate());
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_GT((*identity)->expires, absl::Now() + absl::Minutes(50));
  EXPECT_LT((*identity)->expires, absl::Now() + absl::Minutes(70));
}

TEST_F(TlsIdentityTest, WhatIsWrongIsNamedByItsFlagAndFile) {
  const KeyPair good = authority_.Issue();
  const KeyPair other = authority_.Issue();
  const KeyPair expired =
      authority_.Issue({absl::Now() - absl::Hours(2), absl::Now() - absl::Seconds(1)});
  const KeyPair early =
      authority_.Issue({absl::Now() + absl::Hours(1), absl::Now() + absl::Hours(2)});
  const std::string half = good.certificate.substr(0, good.certificate.size() / 2);
  const std::pair<KeyPair, std::string> cases[] = {
      {expired, "the certificate expired at 20"},
      {early, "the certificate is valid only from 20"},
      {{good.certificate, other.key}, "key.pem: the key is not that of --tls-cert"},
      {{"", good.key}, "cert.pem: there is no certificate"},
      {{half, good.key}, "cert.pem: there is no certificate"},
      {{good.certificate + half, good.key}, "cert.pem: a certificate after the first"},
      {{good.key, good.certificate}, "cert.pem: there is no certificate"},
      {{good.certificate, ""}, "key.pem: there is no unencrypted private key"},
      {{good.certificate, good.certificate}, "key.pem: there is no unencrypted private key"},
      {{good.certificate, EncryptKey(good.key, "secret")},
       "key.pem: there is no unencrypted private key"},
  };
  for (const auto& [pair, message] : cases) {
    EXPECT_THAT(Read(pair), StatusIs(kInvalid, AllOf(HasSubstr("--tls-"), HasSubstr(message),
                                                     Not(HasSubstr("BEGIN")))));
  }
  EXPECT_THAT(Read(good, "nobody"), StatusIs(kInvalid, HasSubstr("--tls-client-ca")));
}

TEST_F(TlsIdentityTest, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(
      ReadTlsIdentity({files_.Path("none.pem"), files_.Path("none.key"), ""}, absl::Now()),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("--tls-cert"), HasSubstr("none.pem"))));
}

}  // namespace
}  // namespace attune
