#include "client/cli/report.h"

#include "client/grpc_status.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace attune::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportTest, SaysWhatToDoAboutAServerThatIsNotThere) {
  EXPECT_THAT(DescribeError(absl::UnavailableError("refused"), {.address = "host:1"}),
              AllOf(HasSubstr("attune: refused (UNAVAILABLE)\n"), HasSubstr("host:1"),
                    HasSubstr("attune-server"), HasSubstr("--server")));
}

TEST(ReportTest, NamesTheTimeoutThatPassed) {
  EXPECT_THAT(
      DescribeError(absl::DeadlineExceededError("late"), {.deadline = absl::Milliseconds(250)}),
      AllOf(HasSubstr("250ms"), HasSubstr("--timeout")));
}

TEST(ReportTest, SaysWhyTheServerRefusedAndWhenToComeBack) {
  grpc::Status status;
  google::rpc::ErrorInfo info;
  info.set_reason("QUEUE_FULL");
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(430'000'000);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  details.add_details()->PackFrom(retry);
  const absl::Status full = ToAbslStatus(
      {grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full", details.SerializeAsString()});
  EXPECT_THAT(DescribeError(full, {}),
              AllOf(HasSubstr("the queue is full (RESOURCE_EXHAUSTED, QUEUE_FULL)\n"),
                    HasSubstr("try again in 500ms.")));
}

TEST(ReportTest, EscapesWhatCameFromTheNetwork) {
  EXPECT_THAT(DescribeError(absl::InternalError("\x1b[2Jgone\xff"), {}),
              AllOf(HasSubstr("\\u{1b}[2Jgone\\xff"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace attune::cli
