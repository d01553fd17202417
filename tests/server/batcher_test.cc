#include "server/batcher.h"

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/retry_delay.h"
#include "tests/support/counting_job.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::CountingJob;
using ::attune::testing::FakeClock;
using ::attune::testing::IsOk;
using ::attune::testing::ItemsOf;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

  static std::vector<int64_t> TakeTokens(Batcher& batcher) {
    std::vector<int64_t> tokens;
    for (const WorkItem& item : batcher.Take()) tokens.push_back(item.tokens);
    return tokens;
  }

  FakeClock clock_;
};

TEST_F(BatcherTest, GivesWhatIsQueuedAtOnceInOrderOfArrival) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 2})), IsOk());
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {3})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1, 2, 3));
}

TEST_F(BatcherTest, ClosesBatchWhenTokenBudgetWouldOverflow) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {4, 6, 1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(4, 6));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, ClosesBatchAtItemLimit) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 1, 1, 1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1, 1, 1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, RunsAnItemLargerThanABatchByItself) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 50, 1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(50));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, GivesAWorkerToAJobThatRunsAlone) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(/*alone=*/true), {2})), IsOk());
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {3})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(2));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(3));
}

TEST_F(BatcherTest, RefusesAllOfARequestThatDoesNotFit) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {60})), IsOk());
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {40, 1})),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("60 tokens wait, this request has 41, the limit is 100")));
  EXPECT_EQ(batcher.queued_tokens(), 60);
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {40})), IsOk());
}

// The rest of a request whose answer has begun.
class ContinuingJob final : public Job {
 public:
  explicit ContinuingJob(absl::Time deadline) : Job(std::make_shared<Call>(deadline)) {}
  bool continues() const override { return true; }
  bool runs_alone() const override { return true; }
  void Fail(int64_t /*index*/, absl::Status /*status*/) override {}
};

TEST_F(BatcherTest, NeverRefusesTheRestOfAnAnswerThatHasBegun) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {100})), IsOk());
  const auto job = std::make_shared<ContinuingJob>(absl::InfiniteFuture());
  EXPECT_THAT(batcher.Add({{job, 0, 50}}), IsOk());
}

TEST_F(BatcherTest, TakesAnyRequestWhileEmpty) {
  Batcher batcher(SmallBatches(), clock_);
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {500})), IsOk());
}

TEST_F(BatcherTest, DropsExpiredWorkBeforeItStarts) {
  Batcher batcher(SmallBatches(), clock_);
  const auto late = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(late, {1, 1})), IsOk());
  clock_.Advance(absl::Seconds(1) - absl::Microseconds(1));
  const auto in_time = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(in_time, {2})), IsOk());
  clock_.Advance(absl::Microseconds(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(2));
  ASSERT_EQ(late->failed().size(), 2u);
  EXPECT_THAT(late->failed().at(1), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
  EXPECT_EQ(batcher.queued_tokens(), 0);
}

TEST_F(BatcherTest, KeepsWorkWhoseDeadlineIsAMicrosecondAway) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
  clock_.Advance(absl::Seconds(1) - absl::Microseconds(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
}

TEST_F(BatcherTest, DropsCancelledWorkAndKeepsItsNeighbours) {
  Batcher batcher(SmallBatches(), clock_);
  const auto cancelled = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
  ASSERT_THAT(batcher.Add(ItemsOf(cancelled, {2})), IsOk());
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {3})), IsOk());
  cancelled->call().Cancel();
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1, 3));
  EXPECT_THAT(cancelled->failed().at(0), StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
}

TEST_F(BatcherTest, CancelledWorkMakesRoomBeforeAnyWorkerComes) {
  Batcher batcher(SmallBatches(), clock_);
  const auto cancelled = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(cancelled, {50, 50})), IsOk());
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 tokens wait")));
  cancelled->call().Cancel();
  EXPECT_EQ(batcher.queued_tokens(), 0);
  EXPECT_EQ(batcher.counts().queued_items, 0);
  EXPECT_EQ(batcher.counts().items_cancelled, 2);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {100})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(100));
  EXPECT_EQ(cancelled->failed().size(), 2u);
}

TEST_F(BatcherTest, ExpiredWorkMakesRoomWhenTheNextRequestComes) {
  Batcher batcher(SmallBatches(), clock_);
  const auto late = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(late, {50, 50})), IsOk());
  clock_.Advance(absl::Seconds(1));
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {60})), IsOk());
  EXPECT_EQ(batcher.queued_tokens(), 60);
  EXPECT_EQ(batcher.counts().items_expired, 2);
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(60));
  EXPECT_EQ(late->failed().size(), 2u);
}

TEST_F(BatcherTest, ACancelTakesOnlyWhatNoWorkerHas) {
  Batcher batcher(SmallBatches(), clock_);
  const auto job = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(job, {6, 4, 5, 5, 7})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(6, 4));
  job->call().Cancel();
  EXPECT_EQ(batcher.queued_tokens(), 0);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_EQ(job->failed().count(1), 0u);
  EXPECT_EQ(job->failed().size(), 3u);
}

TEST_F(BatcherTest, RefusesWorkThatNobodyWaitsFor) {
  Batcher batcher(SmallBatches(), clock_);
  const auto cancelled = MakeJob();
  cancelled->call().Cancel();
  EXPECT_THAT(batcher.Add(ItemsOf(cancelled, {1})),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  const auto late = MakeJob();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(batcher.Add(ItemsOf(late, {1})),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
  EXPECT_EQ(batcher.counts().queued_items, 0);
}

TEST_F(BatcherTest, ACallMayBeCancelledWhenTheBatcherIsGone) {
  const auto job = MakeJob();
  {
    Batcher batcher(SmallBatches(), clock_);
    ASSERT_THAT(batcher.Add(ItemsOf(job, {1})), IsOk());
  }
  job->call().Cancel();
}

TEST_F(BatcherTest, RefusesMoreItemsThanMayWait) {
  BatcherOptions options = SmallBatches();
  options.max_queue_items = 4;
  Batcher batcher(options, clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 1, 1})), IsOk());
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 1})),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("3 texts wait, this request has 2, the limit is 4")));
  EXPECT_EQ(batcher.counts().rejected_queue_items, 1);
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
}

TEST_F(BatcherTest, TellsHowLongItemsOfEachClassWaited) {
  class Waits final : public QueueObserver {
   public:
    void OnItemTaken(WorkClass work_class, absl::Duration waited) override {
      (work_class == WorkClass::kBulk ? bulk : interactive).push_back(waited);
    }
    std::vector<absl::Duration> bulk;
    std::vector<absl::Duration> interactive;
  };
  Waits waits;
  Batcher batcher(SmallBatches(), clock_, &waits);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
  clock_.Advance(absl::Milliseconds(30));
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), std::vector<int64_t>(9, 10))), IsOk());
  clock_.Advance(absl::Milliseconds(5));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(10));
  EXPECT_THAT(waits.interactive, ElementsAre(absl::Milliseconds(35)));
  EXPECT_THAT(waits.bulk, ElementsAre(absl::Milliseconds(5)));
}

TEST_F(BatcherTest, TellsWhenToTryAgain) {
  Batcher batcher(SmallBatches(), clock_);
  EXPECT_EQ(batcher.TimeToHalfFull(), absl::ZeroDuration());
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), std::vector<int64_t>(10, 10))), IsOk());
  // Nothing is known yet about how fast the queue moves.
  EXPECT_EQ(batcher.TimeToHalfFull(), kUnmeasuredWait);
  batcher.Finished(10);
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(absl::Milliseconds(100));
    batcher.Finished(10);
  }
  // 50 tokens too many.
  EXPECT_EQ(absl::ToInt64Milliseconds(batcher.TimeToHalfFull() + absl::Microseconds(1)), 500);
  for (int i = 0; i < 5; ++i) TakeTokens(batcher);
  EXPECT_EQ(batcher.TimeToHalfFull(), absl::ZeroDuration());
}

TEST_F(BatcherTest, HandsOutWhatIsQueuedAfterCloseAndThenEnds) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})), IsOk());
  batcher.Close();
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {1})),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("draining")));
  EXPECT_THAT(TakeTokens(batcher), ElementsAre(1));
  EXPECT_THAT(TakeTokens(batcher), IsEmpty());
}

TEST_F(BatcherTest, EndsWhenAllThatIsLeftAfterCloseHasExpired) {
  Batcher batcher(SmallBatches(), clock_);
  const auto late = MakeJob();
  ASSERT_THAT(batcher.Add(ItemsOf(late, {1})), IsOk());
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
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 1, 1, 1})), IsOk());  // more than a batch
  EXPECT_EQ(batcher.idle_workers(), 0);
  worker.join();
  EXPECT_EQ(batcher.idle_workers(), 0);
}

TEST_F(BatcherTest, TakesAnyRequestBehindWorkThatWeighsNothing) {
  Batcher batcher(SmallBatches(), clock_);
  ASSERT_THAT(batcher.Add(ItemsOf(MakeJob(/*alone=*/true), {0})), IsOk());
  EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {500})), IsOk());
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
        EXPECT_THAT(batcher.Add(ItemsOf(MakeJob(), {1, 2, 3})), IsOk());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  batcher.Close();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(taken, 4 * kRequests * 3);
  EXPECT_EQ(batcher.queued_tokens(), 0);
}

// Counts with atomics what became of its items.
class SharedJob final : public Job {
 public:
  SharedJob(std::shared_ptr<Call> call, std::atomic<int>& failed)
      : Job(std::move(call)), failed_(failed) {}
  bool runs_alone() const override { return false; }
  void Fail(int64_t /*index*/, absl::Status /*status*/) override { ++failed_; }

 private:
  std::atomic<int>& failed_;
};

TEST_F(BatcherTest, TakesOrFailsEachItemOnceWhileCallersCancel) {
  constexpr int kRequests = 300;
  constexpr int kThreads = 3;
  BatcherOptions options = SmallBatches();
  options.max_queue_tokens = 1'000'000;
  Batcher batcher(options, clock_);
  std::atomic<int> taken{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < kThreads; ++i) {
    workers.emplace_back([&] {
      for (auto items = batcher.Take(); !items.empty(); items = batcher.Take()) {
        taken += static_cast<int>(items.size());
        batcher.Finished(TotalTokens(items));
      }
    });
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < kThreads; ++i) {
    callers.emplace_back([&, i] {
      for (int r = 0; r < kRequests; ++r) {
        auto call =
            std::make_shared<Call>(clock_.Now() + absl::Seconds(1), absl::StrCat("client", i));
        const auto job = std::make_shared<SharedJob>(call, failed);
        EXPECT_THAT(batcher.Add(ItemsOf(job, {1, 2, 3})), IsOk());
        if (r % 2 == 0) call->Cancel();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  batcher.Close();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(taken + failed, kThreads * kRequests * 3);
  EXPECT_EQ(batcher.queued_tokens(), 0);
}

}  // namespace
}  // namespace attune
