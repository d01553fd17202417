#include "server/server_options.h"

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

ServerOptions Valid() {
  ServerOptions options;
  options.model = "some-folder";
  return options;
}

TEST(ServerOptionsTest, DefaultsAreValidOnceAModelIsNamed) {
  EXPECT_THAT(Validate(Valid()), IsOk());
  EXPECT_THAT(Validate(ServerOptions()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--model is empty")));
}

TEST(ServerOptionsTest, NamesTheFlagTheValueAndTheRange) {
  ServerOptions options = Valid();
  options.max_texts = 0;
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--max-texts is 0; it must be from 1")));
  options = Valid();
  options.drain_timeout = absl::Seconds(-1);
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--drain-timeout is -1s")));
}

TEST(ServerOptionsTest, OtherMachinesAreServedUnencryptedOnlyWhenAsked) {
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example.com:1"}) {
    ServerOptions options = Valid();
    options.grpc_address = address;
    EXPECT_THAT(Validate(options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--grpc-address"), HasSubstr("--tls-cert"),
                               HasSubstr("--insecure"))))
        << address;
    options.insecure = true;
    EXPECT_THAT(Validate(options), IsOk()) << address;
    options.insecure = false;
    options.tls_cert = "cert.pem";
    options.tls_key = "key.pem";
    EXPECT_THAT(Validate(options), IsOk()) << address;
  }
  for (const char* address : {"127.0.0.1:1", "[::1]:1", "localhost:1", "unix:/run/attune"}) {
    ServerOptions options = Valid();
    options.grpc_address = address;
    EXPECT_THAT(Validate(options), IsOk()) << address;
  }
  ServerOptions options = Valid();
  options.http_address = "0.0.0.0:1";
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--http-address is 0.0.0.0:1")));
}

TEST(ServerOptionsTest, AnAddressHasAHostAndAPort) {
  for (const char* address : {"", "nowhere", "nowhere:", ":1", "host:port", "dns:///host:1"}) {
    ServerOptions options = Valid();
    options.grpc_address = address;
    EXPECT_THAT(Validate(options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("--grpc-address is ", address, "; it must be"))));
  }
}

TEST(ServerOptionsTest, ACertificateAndItsKeyAreGivenTogether) {
  const std::tuple<std::string, std::string, std::string, std::string> cases[] = {
      {"cert.pem", "", "", "--tls-key is empty"},
      {"", "key.pem", "", "--tls-cert is empty"},
      {"", "", "ca.pem", "--tls-client-ca is ca.pem; it needs"},
  };
  for (const auto& [certificate, key, authority, message] : cases) {
    ServerOptions options = Valid();
    options.tls_cert = certificate;
    options.tls_key = key;
    options.tls_client_ca = authority;
    EXPECT_THAT(Validate(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(ServerOptionsTest, StreamsNeedRoomForAnItemAndTimeToReadIt) {
  ServerOptions options = Valid();
  options.max_parallel_per_stream = 0;
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--max-parallel-per-stream is 0; it must be from 1")));
  options = Valid();
  options.stream_stall_timeout = absl::ZeroDuration();
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--stream-stall-timeout is 0; it must be")));
}

TEST(ServerOptionsTest, TheQueueWaitMayBeChosenForOneButNotNegative) {
  ServerOptions options = Valid();
  options.max_queue_wait = absl::ZeroDuration();
  EXPECT_THAT(Validate(options), IsOk());
  options.max_queue_wait = -absl::Seconds(1);
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--max-queue-wait is -1s; it must be")));
}

TEST(ServerOptionsTest, TheHttpPortNeedsAThreadAndTimeToReadARequest) {
  ServerOptions options = Valid();
  options.http_threads = 0;
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--http-threads is 0; it must be from 1")));
  options = Valid();
  options.http_io_timeout = absl::ZeroDuration();
  EXPECT_THAT(Validate(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--http-io-timeout is 0; it must be")));
}

TEST(ServerOptionsTest, TakesEachPrecisionAndKernelsByNameAndNoOther) {
  ServerOptions options = Valid();
  for (const char* precision : {"f32", "bf16", "int8", "auto"}) {
    options.precision = precision;
    EXPECT_THAT(Validate(options), IsOk());
  }
  for (const char* kernels : {"auto", "onednn", "native"}) {
    options.kernels = kernels;
    EXPECT_THAT(Validate(options), IsOk());
  }
  options.kernels = "mkl";
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--kernels is \"mkl\"; it must be auto, onednn or native")));
  options.precision = "fp4";
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--precision is \"fp4\"; it must be f32, bf16, int8 or auto")));
}

TEST(ServerOptionsTest, QualityCacheIsAFolderOrOff) {
  ServerOptions options = Valid();
  options.quality_cache = "";
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--quality-cache is empty")));
}

TEST(ServerOptionsTest, BudgetForAllMapsHoldsAtLeastTheLargestOne) {
  ServerOptions options = Valid();
  options.attention_budget_bytes = options.max_attention_reply_bytes - 1;
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--attention-budget")));
}

TEST(ServerOptionsTest, BudgetForAllCallsHoldsAtLeastTheLargestOne) {
  ServerOptions options = Valid();
  options.calls_budget_bytes = LargestCallBytes(options);
  EXPECT_THAT(Validate(options), IsOk());
  options.calls_budget_bytes -= 1;
  EXPECT_THAT(Validate(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--calls-budget")));
}

TEST(ServerOptionsTest, TheQueueIsChosenToHoldTheLargestRequest) {
  ServerOptions options = Valid();
  options.max_input_tokens = 512;
  ChooseQueueLimits(options);
  EXPECT_EQ(options.max_queue_tokens, 2'048 * 512);
  EXPECT_EQ(options.max_queue_items, 16'384);
  options.max_texts = 20'000;
  options.max_queue_items = 0;
  ChooseQueueLimits(options);
  EXPECT_EQ(options.max_queue_tokens, 2'048 * 512);  // was chosen already
  EXPECT_EQ(options.max_queue_items, 20'000);
}

}  // namespace
}  // namespace attune
