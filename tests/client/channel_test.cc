#include "client/channel.h"

#include "client/client_options.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ClientOptionsTest, DefaultsAreValid) { EXPECT_THAT(ClientOptions().Validate(), IsOk()); }

TEST(ClientOptionsTest, NamesTheOptionThatIsOutOfRange) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ClientOptions{.address = ""}.Validate(), StatusIs(kInvalid, HasSubstr("address")));
  EXPECT_THAT((ClientOptions{.tls_ca = "x", .tls_cert = "x"}.Validate()),
              StatusIs(kInvalid, HasSubstr("tls_cert and tls_key are given together")));
  EXPECT_THAT((ClientOptions{.tls_cert = "x", .tls_key = "x"}.Validate()),
              StatusIs(kInvalid, HasSubstr("tls_cert needs tls_ca")));
  EXPECT_THAT(ClientOptions{.tls_name = "x"}.Validate(),
              StatusIs(kInvalid, HasSubstr("tls_name needs tls_ca")));
  EXPECT_THAT(ClientOptions{.deadline = absl::InfiniteDuration()}.Validate(),
              StatusIs(kInvalid, HasSubstr("deadline is inf")));
  EXPECT_THAT(ClientOptions{.deadline = absl::ZeroDuration()}.Validate(),
              StatusIs(kInvalid, HasSubstr("deadline is 0")));
  EXPECT_THAT(ClientOptions{.max_attempts = 6}.Validate(),
              StatusIs(kInvalid, HasSubstr("max_attempts is 6; it must be 1 to 5")));
  EXPECT_THAT(ClientOptions{.max_receive_bytes = 0}.Validate(),
              StatusIs(kInvalid, HasSubstr("max_receive_bytes is 0")));
}

TEST(ClientOptionsTest, AListOverTlsNeedsTheNameInItsCertificates) {
  ClientOptions options{.address = "10.0.0.1:1,10.0.0.2:1", .tls_ca = "x"};
  EXPECT_THAT(options.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs tls_name")));
  options.tls_name = "encoder";
  EXPECT_THAT(options.Validate(), IsOk());
}

TEST(ClientOptionsTest, ATokenThatMetadataCannotCarryIsRefusedAndNotShown) {
  for (const char* token : {"two words", "line\nbreak", "caf\xc3\xa9"}) {
    EXPECT_THAT(ClientOptions{.token = token}.Validate(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("the token has"), Not(HasSubstr(token)))));
  }
}

TEST(ServiceConfigTest, RetriesOnlyWhatMayBeTriedAgain) {
  const std::string config = EncoderServiceConfig({.max_attempts = 4});
  EXPECT_THAT(config, HasSubstr(R"("maxAttempts":4)"));
  EXPECT_THAT(config, HasSubstr(R"("retryableStatusCodes":["UNAVAILABLE","RESOURCE_EXHAUSTED"])"));
  EXPECT_THAT(config, HasSubstr("retryThrottling"));
}

TEST(ServiceConfigTest, HasNoRetryPolicyForOneAttempt) {
  EXPECT_THAT(EncoderServiceConfig({.max_attempts = 1}), Not(HasSubstr("retry")));
}

}  // namespace
}  // namespace attune
