#include "engine/base/line_limiter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::Optional;

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(LineLimiterTest, LetsSoManyThroughPerSecondAndTellsHowManyItHeldBack) {
  LineLimiter limiter(3);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(limiter.Admit("call", kStart), Optional(0));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(limiter.Admit("call", kStart + absl::Milliseconds(999)), std::nullopt);
  }
  EXPECT_THAT(limiter.Admit("call", kStart + absl::Seconds(1)), Optional(5));
  EXPECT_THAT(limiter.Admit("call", kStart + absl::Seconds(1)), Optional(0));
}

TEST(LineLimiterTest, EventsDoNotShareALimit) {
  LineLimiter limiter(1);
  EXPECT_THAT(limiter.Admit("call", kStart), Optional(0));
  EXPECT_THAT(limiter.Admit("grpc", kStart), Optional(0));
  EXPECT_EQ(limiter.Admit("call", kStart), std::nullopt);
}

TEST(LineLimiterTest, AClockThatIsSetBackSilencesNothing) {
  LineLimiter limiter(1);
  EXPECT_THAT(limiter.Admit("call", kStart + absl::Hours(24)), Optional(0));
  EXPECT_THAT(limiter.Admit("call", kStart), Optional(0));
}

}  // namespace
}  // namespace attune
