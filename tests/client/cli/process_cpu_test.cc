#include "client/cli/process_cpu.h"

#include <unistd.h>

#include <climits>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ProcessCpuTest, AddsUserAndSystemTimeWhateverTheProgramIsCalled) {
  EXPECT_EQ(*CpuTicksOfStat("7 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 11 12"), 300);
}

TEST(ProcessCpuTest, RefusesWhatIsNoStat) {
  for (const char* stat : {"", "7 (a", "7 (a) S 1 2", "7 (a) S 1 2 3 4 5 6 7 8 9 10 x 50 11 12"}) {
    EXPECT_THAT(CpuTicksOfStat(stat), StatusIs(absl::StatusCode::kInternal, HasSubstr("proc(5)")))
        << stat;
  }
}

TEST(ProcessCpuTest, SeesThisProcessFromInsideAndOutside) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const double outside, CpuSecondsOf(getpid()));
  // The clock tick of the outside view is 10 ms or less; user and system time round separately.
  EXPECT_NEAR(OwnCpuSeconds(), outside, 0.05);
}

TEST(ProcessCpuTest, SaysThatThereIsNoSuchProcess) {
  EXPECT_THAT(CpuSecondsOf(INT_MAX),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no process 2147483647")));
}

}  // namespace
}  // namespace attune::cli
