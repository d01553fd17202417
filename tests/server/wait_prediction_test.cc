#include "server/wait_prediction.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

constexpr bool kAllBusy = true;

class WaitPredictionTest : public ::testing::Test {
 protected:
  // Workers who are all busy finish `pieces` pieces of 100 tokens, one every `each`.
  void Work(int pieces, absl::Duration each) {
    for (int i = 0; i < pieces; ++i) {
      now_ += each;
      prediction_.Finished(100, kAllBusy, now_);
    }
  }

  double SecondsFor(int64_t tokens) const {
    return absl::ToDoubleSeconds(
        prediction_.TimeFor(tokens, now_).value_or(absl::InfiniteDuration()));
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  WaitPrediction prediction_;
};

TEST_F(WaitPredictionTest, SaysNothingBeforeEnoughHasBeenSeen) {
  EXPECT_EQ(prediction_.TimeFor(100, now_), std::nullopt);
  Work(4, absl::Milliseconds(100));  // the first begins before it is watched
  EXPECT_EQ(prediction_.TimeFor(100, now_), std::nullopt);
  Work(1, absl::Milliseconds(100));
  EXPECT_NEAR(SecondsFor(1000), 1.0, 1e-6);
}

TEST_F(WaitPredictionTest, AnInstantIsNotEnoughToGoBy) {
  Work(100, absl::Milliseconds(1));
  EXPECT_EQ(prediction_.TimeFor(100, now_), std::nullopt);
  Work(200, absl::Milliseconds(1));
  EXPECT_NEAR(SecondsFor(1000), 0.01, 1e-6);
}

TEST_F(WaitPredictionTest, TimeInWhichAWorkerIdlesDoesNotCount) {
  Work(10, absl::Milliseconds(100));
  prediction_.WorkerIdles();
  now_ += absl::Seconds(50);
  Work(10, absl::Milliseconds(100));
  EXPECT_NEAR(SecondsFor(1000), 1.0, 1e-6);

  prediction_.Finished(0, /*all_busy=*/false, now_);
  now_ += absl::Seconds(50);
  Work(10, absl::Milliseconds(100));
  EXPECT_NEAR(SecondsFor(1000), 1.0, 1e-6);
}

TEST_F(WaitPredictionTest, FollowsTheWorkersWithinSeconds) {
  Work(100, absl::Milliseconds(100));
  Work(60, absl::Milliseconds(400));
  EXPECT_NEAR(SecondsFor(100), 0.4, 0.02);
}

TEST_F(WaitPredictionTest, ForgetsWhatItSawAMinuteAgo) {
  Work(10, absl::Milliseconds(100));
  prediction_.WorkerIdles();
  now_ += absl::Minutes(1);
  EXPECT_NEAR(SecondsFor(100), 0.1, 1e-6);
  now_ += absl::Microseconds(1);
  EXPECT_EQ(prediction_.TimeFor(100, now_), std::nullopt);
  // And begins anew.
  Work(4, absl::Milliseconds(200));
  EXPECT_EQ(prediction_.TimeFor(100, now_), std::nullopt);
  Work(1, absl::Milliseconds(200));
  EXPECT_NEAR(SecondsFor(100), 0.2, 1e-6);
}

TEST_F(WaitPredictionTest, AClockThatIsSetMisleadsItBrieflyAtMost) {
  Work(20, absl::Milliseconds(100));
  now_ -= absl::Hours(1);
  Work(20, absl::Milliseconds(100));
  EXPECT_NEAR(SecondsFor(100), 0.1, 0.01);
  now_ += absl::Hours(2);
  Work(200, absl::Milliseconds(100));
  EXPECT_NEAR(SecondsFor(100), 0.1, 0.01);
}

}  // namespace
}  // namespace attune
