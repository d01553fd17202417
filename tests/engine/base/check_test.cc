#include "engine/base/check.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(CheckDeathTest, FailedCheckNamesConditionAndPlaceAndAborts) {
  EXPECT_DEATH(ATTUNE_CHECK(1 + 1 == 3), "1 \\+ 1 == 3.*check_test.cc");
}

TEST(CheckTest, PassingCheckEvaluatesItsConditionOnce) {
  int evaluations = 0;
  ATTUNE_CHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

}  // namespace
}  // namespace attune
