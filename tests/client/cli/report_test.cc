#include "client/cli/report.h"

#include "gmock/gmock.h"

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

TEST(ReportTest, EscapesWhatCameFromTheNetwork) {
  EXPECT_THAT(DescribeError(absl::InternalError("\x1b[2Jgone\xff"), {}),
              AllOf(HasSubstr("\\u{1b}[2Jgone\\xff"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace attune::cli
