#include "server/task_queue.h"

#include <atomic>
#include <future>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TaskQueueTest, RunsEverythingThatWasQueuedBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    TaskQueue queue(1'000'000);
    ASSERT_THAT(queue.Start(2), IsOk());
    for (int i = 0; i < 100; ++i) ASSERT_THAT(queue.Add(1, [&ran] { ++ran; }), IsOk());
  }
  EXPECT_EQ(ran, 100);
}

TEST(TaskQueueTest, CountsATaskUntilItHasRun) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  TaskQueue queue(10);
  ASSERT_THAT(queue.Start(1), IsOk());
  ASSERT_THAT(queue.Add(8, [released] { released.wait(); }), IsOk());
  EXPECT_THAT(queue.Add(3, [] {}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("8 bytes, this request has 3, the limit is 10")));
  EXPECT_THAT(queue.Add(2, [] {}), IsOk());
  release.set_value();
}

TEST(TaskQueueTest, TakesATaskOfAnySizeWhenNothingIsPending) {
  TaskQueue queue(10);
  ASSERT_THAT(queue.Start(1), IsOk());
  EXPECT_THAT(queue.Add(1'000, [] {}), IsOk());
}

}  // namespace
}  // namespace attune
