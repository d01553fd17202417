#include "engine/base/mutex.h"

#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(MutexTest, GuardsACounterAgainstManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kIncrements = 2'000;
  Mutex mu;
  int counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kIncrements; ++i) {
        MutexLock lock(mu);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kIncrements);
}

TEST(CondVarTest, WaitReleasesTheMutexAndReturnsHoldingIt) {
  Mutex mu;
  CondVar changed;
  int stage = 0;
  std::thread other([&] {
    MutexLock lock(mu);
    while (stage != 1) changed.Wait(mu);
    stage = 2;
    changed.NotifyAll();
  });
  {
    MutexLock lock(mu);
    stage = 1;
    changed.NotifyAll();
    while (stage != 2) changed.Wait(mu);
    EXPECT_EQ(stage, 2);
  }
  other.join();
}

TEST(CondVarTest, WaitForReturnsFalseWhenTimeIsUp) {
  Mutex mu;
  CondVar never;
  MutexLock lock(mu);
  EXPECT_FALSE(never.WaitFor(mu, absl::ZeroDuration()));
  EXPECT_FALSE(never.WaitFor(mu, absl::Milliseconds(-5)));
  EXPECT_FALSE(never.WaitFor(mu, -absl::InfiniteDuration()));
}

TEST(CondVarTest, WaitForAnInfiniteTimeIsWokenByANotification) {
  Mutex mu;
  CondVar changed;
  bool ready = false;
  std::thread other;
  {
    MutexLock lock(mu);
    other = std::thread([&] {
      MutexLock inner(mu);
      ready = true;
      changed.NotifyOne();
    });
    while (!ready) ASSERT_TRUE(changed.WaitFor(mu, absl::InfiniteDuration()));
  }
  other.join();
}

}  // namespace
}  // namespace attune
