#include "server/error_details.h"

#include <string>

#include "engine/base/field_error.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "server/field_errors.h"
#include "server/retry_delay.h"
#include "server/rpc_status.h"

namespace attune {
namespace {

using ::google::rpc::BadRequest;
using ::google::rpc::ErrorInfo;

template <typename Detail>
Detail Get(const google::rpc::Status& status) {
  Detail detail;
  for (const google::protobuf::Any& any : status.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  return detail;
}

TEST(RetryDelayTest, StaysWithinItsLimitsAndSpreads) {
  for (const absl::Duration predicted :
       {absl::ZeroDuration(), -absl::Seconds(1), absl::Milliseconds(70), absl::Seconds(5),
        absl::Hours(1), absl::InfiniteDuration()}) {
    absl::Duration least = absl::InfiniteDuration();
    absl::Duration most = absl::ZeroDuration();
    for (int i = 0; i < 1000; ++i) {
      const absl::Duration delay = RetryDelay(predicted);
      least = std::min(least, delay);
      most = std::max(most, delay);
    }
    EXPECT_GE(least, kLeastRetryDelay) << predicted;
    EXPECT_LE(most, kMostRetryDelay) << predicted;
    EXPECT_GT(most, least * 1.1) << predicted;
  }
}

TEST(ErrorDetailsTest, AnotherMessageKeepsTheDetails) {
  const absl::Status error = WithRetryDelay(
      WithReason(absl::UnavailableError("gone"), ErrorReason::kDraining), absl::Milliseconds(1500));
  const absl::Status renamed = WithMessage(error, "text 3: gone");
  EXPECT_EQ(renamed.message(), "text 3: gone");
  EXPECT_EQ(RetryDelayOf(renamed), absl::Milliseconds(1500));
  EXPECT_EQ(Get<ErrorInfo>(ToRpcStatus(renamed)).reason(), "DRAINING");
  EXPECT_EQ(RetryDelayOf(absl::UnavailableError("gone")), std::nullopt);
}

TEST(RpcStatusTest, EveryFaultHasAReasonAndOtherErrorsHaveNone) {
  EXPECT_EQ(Get<ErrorInfo>(ToRpcStatus(absl::InternalError("odd"))).reason(), "INTERNAL_FAULT");
  EXPECT_EQ(ToRpcStatus(absl::CancelledError("gone")).details_size(), 0);
}

TEST(RpcStatusTest, AFieldNameOfTenKilobytesFitsTheTrailers) {
  const google::rpc::Status status = ToRpcStatus(FieldError(std::string(10'000, 'f'), " is wrong"));
  EXPECT_LE(TrailerBytes(status), kMaxTrailerBytes);
  const auto bad_request = Get<BadRequest>(status);
  ASSERT_EQ(bad_request.field_violations_size(), 1);
  EXPECT_EQ(bad_request.field_violations(0).field(), std::string(128, 'f'));
}

TEST(RpcStatusTest, TextsThatGrowWhenTheyAreEncodedFitTheTrailers) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "\xe4\xb8\xad";
  const google::rpc::Status status = ToRpcStatus(FieldError(text, text));
  EXPECT_LE(TrailerBytes(status), kMaxTrailerBytes);
  EXPECT_EQ(status.message().size() % 3, 0);
  EXPECT_FALSE(status.message().empty());
}

TEST(RpcStatusTest, MetadataGoesFirst) {
  const ErrorMetadata metadata = {{"figure", std::string(4000, '9')}};
  const absl::Status error =
      WithReason(FieldError("texts", std::string(900, 'x')), ErrorReason::kModelUnfit, metadata);
  const google::rpc::Status status = ToRpcStatus(error);
  EXPECT_LE(TrailerBytes(status), kMaxTrailerBytes);
  EXPECT_EQ(Get<ErrorInfo>(status).reason(), "MODEL_UNFIT");
  EXPECT_EQ(Get<ErrorInfo>(status).metadata_size(), 0);
  EXPECT_EQ(status.message(), error.message());
  EXPECT_EQ(Get<BadRequest>(status).field_violations(0).description(), error.message());
}

TEST(RpcStatusTest, ThenViolationsBeyondSixteenThenTheMessage) {
  FieldErrors errors;
  for (int i = 0; i < 40; ++i) errors.Add(FieldError("texts", " is wrong"));
  const google::rpc::Status few = ToRpcStatus(errors.Combined());
  EXPECT_EQ(Get<BadRequest>(few).field_violations_size(), 16);
  EXPECT_EQ(few.message(), "texts is wrong (the first of 40 errors)");

  const absl::Status long_message = WithMessage(errors.Combined(), std::string(2000, 'm'));
  const google::rpc::Status cut = ToRpcStatus(long_message);
  EXPECT_LE(TrailerBytes(cut), kMaxTrailerBytes);
  EXPECT_GT(TrailerBytes(cut), kMaxTrailerBytes - 16);
  EXPECT_EQ(Get<BadRequest>(cut).field_violations_size(), 16);
  EXPECT_LT(cut.message().size(), 2000);
}

TEST(FieldErrorsTest, NoneIsOkAndOneIsItself) {
  FieldErrors errors;
  errors.Add(absl::OkStatus());
  EXPECT_TRUE(errors.Combined().ok());
  errors.Add(FieldError("texts", " is empty"));
  EXPECT_EQ(errors.Combined(), FieldError("texts", " is empty"));
}

}  // namespace
}  // namespace attune
