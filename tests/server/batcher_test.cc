#include "server/batcher.h"

#include <atomic>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::FakeClock;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Counts what happened to each item.
class CountingJob final : public Job {
 public:
  explicit CountingJob(absl::Time deadline, bool alone = false)
      : Job(std::make_shared<Call>(deadline)), alone_(alone) {}

  bool runs_alone() const override { return alone_; }
  void Fail(int64_t index, absl::Status status) override { failed_[index] = status; }

  const std::map<int64_t, absl::Status>& failed() const { return failed_; }

 private:
  const bool alone_;
  std::map<int64_t, absl::Status> failed_;
};

class BatcherTest : public ::testing::Test {
 protected:
  BatcherOptions SmallBatches() {
    BatcherOptions options;
    options.max_queue_tokens = 100;
    options.max_batch_tokens = 10;
    options.max_batch_items = 3;
    return options;
  }

  std::shared_ptr<CountingJob> MakeJob(bool alone = false) {
    return std::make_shared<CountingJob>(clock_.Now() + absl::Seconds(1), alone);
  }

  static std::vector<WorkItem> Items(const std::shared_ptr<Job>& job,
                                     const std::vector<int64_t>& tokens) {
    std::vector<WorkItem> items;
    for (const int64_t count : tokens) {
      items.push_back({job, static_cast<int64_t>(items.size()), count});
    }
    return items;
  }

  static std::vector<int64_t> TakeTokens(Batcher& batcher) {
    std::vector<int64_t> tokens;
    for (const WorkItem& item : batcher.Take()) tokens.push_back(item.tokens);
    return tokens;
  }

  FakeClock clock_;
};

TEST_F(BatcherTest, GivesWhatIsQueuedAtOnceInOrderOfArrival) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1, 2})), IsOk());
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {3})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1, 2, 3));
}

TEST_F(BatcherTest, ClosesBatchWhenTokenBudgetWouldOverflow) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {4, 6, 1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(4, 6));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, ClosesBatchAtItemLimit) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1, 1, 1, 1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1, 1, 1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, RunsAnItemLargerThanABatchByItself) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1, 50, 1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(50));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, GivesAWorkerToAJobThatRunsAlone) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1})), IsOk());
  ASSERT_THAT(batcher.Add(Items(MakeJob(/*alone=*/true), {2})), IsOk());
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {3})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(2));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(3));
}

TEST_F(BatcherTest, RefusesAllOfARequestThatDoesNotFit) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {60})), IsOk());
  EXPECT_THAT(batcher.Add(Items(MakeJob(), {40, 1})),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("60 tokens wait, this request has 41, the limit is 100")));
  EXPECT_EQ(batcher.queued_tokens(), 60);
  EXPECT_THAT(batcher.Add(Items(MakeJob(), {40})), IsOk());
}

TEST_F(BatcherTest, TakesAnyRequestWhileEmpty) {
  Batcher batcher(SmallBatches(), clock_);
  EXPECT_THAT(batcher.Add(Items(MakeJob(), {500})), IsOk());
}

TEST_F(BatcherTest, DropsExpiredWorkBeforeItStarts) {
  Batcher batcher(SmallBatches(), clock_);
  const auto late = MakeJob();
  ASSERT_THAT(batcher.Add(Items(late, {1, 1})), IsOk());
  clock_.Advance(absl::Seconds(1) - absl::Microseconds(1));
  const auto in_time = MakeJob();
  ASSERT_THAT(batcher.Add(Items(in_time, {2})), IsOk());
  clock_.Advance(absl::Microseconds(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(2));
  ASSERT_EQ(late->failed().size(), 2u);
  EXPECT_THAT(late->failed().at(1), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
  EXPECT_EQ(batcher.queued_tokens(), 0);
}

TEST_F(BatcherTest, KeepsWorkWhoseDeadlineIsAMicrosecondAway) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1})), IsOk());
  clock_.Advance(absl::Seconds(1) - absl::Microseconds(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, DropsCancelledWorkAndKeepsItsNeighbours) {
  Batcher batcher(SmallBatches(), clock_);
  const auto cancelled = MakeJob();
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1})), IsOk());
  ASSERT_THAT(batcher.Add(Items(cancelled, {2})), IsOk());
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {3})), IsOk());
  cancelled->call().Cancel();
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1, 3));
  EXPECT_THAT(cancelled->failed().at(0), StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
}

TEST_F(BatcherTest, HandsOutWhatIsQueuedAfterCloseAndThenEnds) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1})), IsOk());
  batcher.Close();
  EXPECT_THAT(batcher.Add(Items(MakeJob(), {1})),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("draining")));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), IsEmpty());
}

TEST_F(BatcherTest, EndsWhenAllThatIsLeftAfterCloseHasExpired) {
  Batcher batcher(SmallBatches(), clock_);
  const auto late = MakeJob();
  ASSERT_THAT(batcher.Add(Items(late, {1})), IsOk());
  batcher.Close();
  clock_.Advance(absl::Seconds(2));
  EXPECT_THAT(TakeTokens(batcher), IsEmpty());
  EXPECT_EQ(late->failed().size(), 1u);
}

TEST_F(BatcherTest, CountsWorkersAsIdleWhileTheyWaitAndNoTokenDoes) {
  Batcher batcher(SmallBatches(), clock_);
  EXPECT_EQ(batcher.idle_workers(), 0);
  std::thread worker([&] { batcher.Take(); });
  while (batcher.idle_workers() == 0) std::this_thread::yield();
  EXPECT_EQ(batcher.idle_workers(), 1);
  ASSERT_THAT(batcher.Add(Items(MakeJob(), {1, 1, 1, 1})), IsOk());  // more than a batch
  EXPECT_EQ(batcher.idle_workers(), 0);
  worker.join();
  EXPECT_EQ(batcher.idle_workers(), 0);
}

TEST_F(BatcherTest, TakesAnyRequestBehindWorkThatWeighsNothing) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(Items(MakeJob(/*alone=*/true), {0})), IsOk());
  EXPECT_THAT(batcher.Add(Items(MakeJob(), {500})), IsOk());
}

TEST_F(BatcherTest, HandsEachItemToExactlyOneOfManyWorkers) {
  constexpr int kRequests = 200;
  BatcherOptions options = SmallBatches();
  options.max_queue_tokens = 1'000'000;
  Batcher batcher(options, clock_);
  std::atomic<int> taken{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      for (auto items = batcher.Take(); !items.empty(); items = batcher.Take()) {
        taken += static_cast<int>(items.size());
      }
    });
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int r = 0; r < kRequests; ++r) {
        EXPECT_THAT(batcher.Add(Items(MakeJob(), {1, 2, 3})), IsOk());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  batcher.Close();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(taken, 4 * kRequests * 3);
  EXPECT_EQ(batcher.queued_tokens(), 0);
}

}  // namespace
}  // namespace attune
