#include "client/cli/flags.h"

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::IsOkAndHolds;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

TEST(DurationFlagTest, IsSecondsUnlessItSaysOtherwise) {
  EXPECT_THAT(ParseDurationFlag("2.5"), IsOkAndHolds(absl::Milliseconds(2500)));
  EXPECT_THAT(ParseDurationFlag("500ms"), IsOkAndHolds(absl::Milliseconds(500)));
  EXPECT_THAT(ParseDurationFlag("1m30s"), IsOkAndHolds(absl::Seconds(90)));
}

TEST(DurationFlagTest, RefusesWhatIsNoFiniteTimeAboveZero) {
  for (const char* text : {"", "0", "-1", "soon", "inf", "nan", "25h", "1e300"}) {
    EXPECT_THAT(ParseDurationFlag(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a time")))
        << text;
  }
}

}  // namespace
}  // namespace attune::cli
