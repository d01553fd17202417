#include "server/byte_budget.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

const ByteBudget::Names kNames = {ErrorReason::kCallsBudgetFull, "calls-budget", "other calls"};

TEST(ByteBudgetTest, HoldsBytesUntilTheReservationGoesAway) {
  ByteBudget budget(100, kNames);
  {
    absl::StatusOr<ByteBudget::Reservation> held = budget.Reserve(60);
    ASSERT_THAT(held, IsOk());
    EXPECT_EQ(budget.held_bytes(), 60);
    const ByteBudget::Reservation moved = *std::move(held);
    EXPECT_EQ(budget.held_bytes(), 60);
  }
  EXPECT_EQ(budget.held_bytes(), 0);
}

TEST(ByteBudgetTest, RefusesWhatWouldPassTheLimitAndSaysThatLaterHelps) {
  ByteBudget budget(100, kNames);
  const absl::StatusOr<ByteBudget::Reservation> held = budget.Reserve(60);
  const absl::Status refused = budget.Reserve(41).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("other calls hold 60 bytes, this one needs 41")));
  EXPECT_EQ(ReasonOf(refused), "CALLS_BUDGET_FULL");
  EXPECT_TRUE(RetryDelayOf(refused).has_value());
  EXPECT_THAT(budget.Reserve(40), IsOk());
}

}  // namespace
}  // namespace attune
