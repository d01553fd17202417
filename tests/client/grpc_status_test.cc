#include "client/grpc_status.h"

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;

TEST(GrpcStatusTest, KeepsCodeAndMessage) {
  EXPECT_THAT(ToAbslStatus(grpc::Status::OK), IsOk());
  EXPECT_THAT(ToAbslStatus(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full")),
              StatusIs(absl::StatusCode::kResourceExhausted, "full"));
}

TEST(GrpcStatusTest, MakesAnUndefinedCodeUnknown) {
  EXPECT_THAT(ToAbslStatus(grpc::Status(static_cast<grpc::StatusCode>(20), "odd")),
              StatusIs(absl::StatusCode::kUnknown, "odd"));
}

}  // namespace
}  // namespace attune
