#include "server/activity.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace attune {
namespace {

class ActivityTest : public ::testing::Test {
 protected:
  absl::Time At(int64_t ms) const { return start_ + absl::Milliseconds(ms); }

  const absl::Time start_ = absl::FromUnixSeconds(1'700'000'000);
  Activity activity_{start_};
};

TEST_F(ActivityTest, WhatNeverBeganHasNoExtent) {
  EXPECT_FALSE(activity_.Extent(At(5)).has_value());
  EXPECT_EQ(activity_.Total(At(5)), absl::ZeroDuration());
}

TEST_F(ActivityTest, TheExtentSpansThePausesAndTheTotalDoesNot) {
  activity_.Begin(At(10));
  activity_.End(At(12));
  activity_.Begin(At(50));
  activity_.End(At(53));
  const auto extent = activity_.Extent(At(100));
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(extent->start, At(10));
  EXPECT_EQ(extent->end, At(53));
  EXPECT_EQ(activity_.Total(At(100)), absl::Milliseconds(5));
}

TEST_F(ActivityTest, PartsThatRunSideBySideCountEach) {
  activity_.Begin(At(0), 3);
  activity_.End(At(1));
  activity_.End(At(9));
  EXPECT_EQ(activity_.Total(At(20)), absl::Milliseconds(30)) << "one goes on";
  EXPECT_EQ(activity_.Extent(At(20))->end, At(20));
  activity_.End(At(4));
  EXPECT_EQ(activity_.Total(At(20)), absl::Milliseconds(14));
  EXPECT_EQ(activity_.Extent(At(20))->end, At(9)) << "whichever ended last, not the last to say so";
}

TEST_F(ActivityTest, ManyThreadsMayTellOfIt) {
  constexpr int kThreads = 4;
  constexpr int kParts = 1'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 1; i <= kParts; ++i) {
        activity_.Begin(At(i));
        activity_.End(At(i + 1 + t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(activity_.Total(At(0)), absl::Milliseconds(kParts * (1 + 2 + 3 + 4)));
  EXPECT_EQ(activity_.Extent(At(0))->start, At(1));
  EXPECT_EQ(activity_.Extent(At(0))->end, At(kParts + kThreads));
}

}  // namespace
}  // namespace attune
