// Who gets the workers' time, and who is told at once that it will not come in time.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batcher.h"
#include "server/error_details.h"
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
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kTextTokens = 12;

class BatcherFairnessTest : public ::testing::Test {
 protected:
  static BatcherOptions LongQueue() {
    BatcherOptions options;
    options.max_queue_tokens = 100'000'000;
    options.max_queue_items = 1'000'000;
    return options;
  }

  std::shared_ptr<CountingJob> MakeJob(const std::string& client,
                                       WorkClass work_class = WorkClass::kInteractive,
                                       absl::Duration time = absl::Hours(1)) {
    return std::make_shared<CountingJob>(
        std::make_shared<Call>(clock_.Now() + time, client, work_class));
  }

  // `texts` texts in one request.
  absl::Status AddRequest(const std::string& client, size_t texts, int64_t tokens = kTextTokens,
                          absl::Duration time = absl::Hours(1)) {
    return batcher_.Add(ItemsOf(MakeJob(client, WorkClass::kInteractive, time),
                                std::vector<int64_t>(texts, tokens)));
  }
  void AddRequests(const std::string& client, int requests, int64_t tokens = kTextTokens) {
    for (int i = 0; i < requests; ++i) ASSERT_THAT(AddRequest(client, 1, tokens), IsOk());
  }

  // Whose texts the next batch holds, in order.
  std::vector<std::string> TakeClients() {
    std::vector<std::string> clients;
    for (const WorkItem& item : batcher_.Take()) clients.push_back(item.job->call().client());
    return clients;
  }

  // The batch from now, 1 the next, that has a text of `client`.
  int BatchesUntil(const std::string& client) {
    for (int batch = 1;; ++batch) {
      const std::vector<std::string> clients = TakeClients();
      if (std::find(clients.begin(), clients.end(), client) != clients.end()) return batch;
    }
  }

  // A worker that takes a millisecond a token runs `batches` batches.
  void RunBatches(int batches) {
    for (int i = 0; i < batches; ++i) {
      const int64_t tokens = TotalTokens(batcher_.Take());
      clock_.Advance(absl::Milliseconds(tokens));
      batcher_.Finished(tokens);
    }
  }

  explicit BatcherFairnessTest(const BatcherOptions& options = LongQueue())
      : batcher_(options, clock_) {}

  FakeClock clock_;
  Batcher batcher_;
};

TEST_F(BatcherFairnessTest, AShortTextIsNextOrAfterNextBehindAnothersRequestOfTenThousand) {
  ASSERT_THAT(AddRequest("a", 10'000), IsOk());
  for (int phase = 0; phase < 40; ++phase) {
    ASSERT_THAT(AddRequest("b", 1, 7), IsOk());
    EXPECT_LE(BatchesUntil("b"), 2) << "after " << phase << " rounds";
    TakeClients();
  }
}

TEST_F(BatcherFairnessTest, AShortTextIsNextOrAfterNextBehindAnothersTenThousandRequests) {
  AddRequests("a", 10'000);
  for (int phase = 0; phase < 40; ++phase) {
    ASSERT_THAT(AddRequest("b", 1, 7), IsOk());
    EXPECT_LE(BatchesUntil("b"), 2) << "after " << phase << " rounds";
    TakeClients();
  }
}

TEST_F(BatcherFairnessTest, AShortTextIsNextOrAfterNextBehindBothKindsOfBacklog) {
  ASSERT_THAT(AddRequest("a", 10'000), IsOk());
  AddRequests("a", 10'000);
  for (int phase = 0; phase < 40; ++phase) {
    ASSERT_THAT(AddRequest("b", 1, 7), IsOk());
    EXPECT_LE(BatchesUntil("b"), 2) << "after " << phase << " rounds";
    TakeClients();
  }
}

TEST_F(BatcherFairnessTest, InteractiveWorkGetsFourTimesTheTokensOfBulk) {
  ASSERT_THAT(AddRequest("a", 20'000, 17), IsOk());
  AddRequests("b", 20'000, 11);
  std::map<std::string, int64_t> tokens;
  for (int i = 0; i < 500; ++i) {
    for (const WorkItem& item : batcher_.Take()) tokens[item.job->call().client()] += item.tokens;
  }
  EXPECT_NEAR(static_cast<double>(tokens["b"]) / static_cast<double>(tokens["a"]), 4.0, 0.1);
}

TEST_F(BatcherFairnessTest, ItemsOfStreamsAreBulk) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(batcher_.Add(ItemsOf(MakeJob("a", WorkClass::kBulk), {128})), IsOk());
  }
  AddRequests("b", 1000, 128);
  int of_b = 0;
  for (int i = 0; i < 50; ++i) {
    const std::vector<std::string> clients = TakeClients();
    of_b += static_cast<int>(std::count(clients.begin(), clients.end(), "b"));
  }
  EXPECT_EQ(of_b, 80);  // of 100
}

TEST_F(BatcherFairnessTest, ClientsGetEquallyManyTokensWhateverTheirTextsAndRequests) {
  AddRequests("long", 5'000, 400);
  AddRequests("short", 50'000, 3);
  ASSERT_THAT(AddRequest("few", 8, 500), IsOk());
  std::map<std::string, int64_t> tokens;
  while (tokens["few"] < 4'000) {
    for (const WorkItem& item : batcher_.Take()) tokens[item.job->call().client()] += item.tokens;
  }
  // Give or take a turn and a text.
  EXPECT_NEAR(static_cast<double>(tokens["long"]), 4'000, 128 + 500);
  EXPECT_NEAR(static_cast<double>(tokens["short"]), 4'000, 128 + 500);
}

TEST_F(BatcherFairnessTest, AClientsOwnRequestsStayInOrder) {
  std::vector<const Job*> added;
  for (int i = 0; i < 300; ++i) {
    const auto job = MakeJob("a");
    added.push_back(job.get());
    ASSERT_THAT(batcher_.Add(ItemsOf(job, {1 + i * 37 % 300})), IsOk());
    ASSERT_THAT(AddRequest("b", 1, 1 + i * 53 % 300), IsOk());
  }
  std::vector<const Job*> taken;
  while (batcher_.queued_tokens() > 0) {
    for (const WorkItem& item : batcher_.Take()) {
      if (item.job->call().client() == "a") taken.push_back(item.job.get());
    }
  }
  EXPECT_EQ(taken, added);
}

TEST_F(BatcherFairnessTest, AHundredThousandClientsEachGetTheirTurn) {
  constexpr size_t kClients = 100'000;
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kClients; ++i) {
      ASSERT_THAT(AddRequest(absl::StrCat("client", i), 1, 128), IsOk());
    }
  }
  std::set<std::string> first_half;
  for (size_t taken = 0; taken < kClients;) {
    for (std::string& client : TakeClients()) {
      first_half.insert(std::move(client));
      ++taken;
    }
  }
  EXPECT_EQ(first_half.size(), kClients);
  EXPECT_EQ(batcher_.counts().queued_items, int64_t{kClients});
}

TEST_F(BatcherFairnessTest, AnItemFarBeyondABatchComesInTime) {
  AddRequests("a", 10'000);
  ASSERT_THAT(AddRequest("b", 1, 10'000), IsOk());
  int64_t before = 0;
  for (;;) {
    const std::vector<WorkItem> batch = batcher_.Take();
    if (batch.front().tokens == 10'000) break;
    before += TotalTokens(batch);
  }
  EXPECT_NEAR(static_cast<double>(before), 10'000, 256);
}

TEST_F(BatcherFairnessTest, WorkThatWeighsNothingGivesWay) {
  const auto help = std::make_shared<CountingJob>(absl::InfiniteFuture(), /*alone=*/true);
  ASSERT_THAT(batcher_.Add(ItemsOf(help, {0, 0})), IsOk());
  ASSERT_THAT(AddRequest("b", 1), IsOk());
  EXPECT_EQ(batcher_.Take().front().tokens, kTextTokens);
  EXPECT_EQ(batcher_.Take().front().job, help);
}

TEST_F(BatcherFairnessTest, RefusesAtOnceWhatCannotBeDoneInTime) {
  ASSERT_THAT(AddRequest("a", 1'000, 100), IsOk());
  RunBatches(10);  // of 200 tokens
  EXPECT_THAT(AddRequest("a", 10, 100, absl::Seconds(98)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("the deadline cannot be met"), HasSubstr("99000 ms"),
                             HasSubstr("allows 98000 ms"))));
  EXPECT_EQ(batcher_.counts().rejected_deadline_unreachable, 1);
  EXPECT_THAT(AddRequest("a", 10, 100, absl::Seconds(100)), IsOk());
}

TEST_F(BatcherFairnessTest, AnothersBacklogDoesNotMakeADeadlineUnreachable) {
  ASSERT_THAT(AddRequest("a", 1'000, 100), IsOk());
  RunBatches(10);
  EXPECT_THAT(AddRequest("b", 1, 10, absl::Milliseconds(200)), IsOk());
  EXPECT_THAT(AddRequest("b", 1, 100, absl::Milliseconds(200)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("allows 200 ms")));
}

TEST_F(BatcherFairnessTest, RefusesNoDeadlineBeforeEnoughHasBeenSeen) {
  ASSERT_THAT(AddRequest("a", 1'000, 100), IsOk());
  RunBatches(3);
  EXPECT_THAT(AddRequest("a", 10, 100, absl::Milliseconds(1)), IsOk());
}

TEST_F(BatcherFairnessTest, AnEmptyQueueTakesAnyDeadline) {
  ASSERT_THAT(AddRequest("a", 20, 100), IsOk());
  RunBatches(10);
  EXPECT_THAT(AddRequest("a", 1'000, 100, absl::Milliseconds(1)), IsOk());
}

class BatcherWaitTest : public BatcherFairnessTest {
 protected:
  static BatcherOptions ShortWait() {
    BatcherOptions options = LongQueue();
    options.max_queue_wait = absl::Seconds(10);
    return options;
  }
  BatcherWaitTest() : BatcherFairnessTest(ShortWait()) {}
};

TEST_F(BatcherWaitTest, RefusesInteractiveWorkThatWouldWaitTooLong) {
  AddRequests("a", 119, 100);
  RunBatches(10);  // of 200 tokens; 9.9 s are left
  EXPECT_THAT(AddRequest("a", 1, 500), IsOk());
  const absl::Status refusal = AddRequest("a", 1, 1);
  EXPECT_THAT(refusal, StatusIs(absl::StatusCode::kResourceExhausted,
                                AllOf(HasSubstr("predicted to wait 10400 ms"),
                                      HasSubstr("the limit is 10000 ms"))));
  EXPECT_EQ(ReasonOf(refusal), "QUEUE_FULL");
  // The wait will be half as long as it may be in 5.4 s, which is more than anyone is asked for.
  EXPECT_LE(RetryDelayOf(refusal), kMostRetryDelay);
  EXPECT_GE(RetryDelayOf(refusal), kMostRetryDelay * 0.8);
  EXPECT_EQ(batcher_.counts().rejected_queue_wait, 1);
  RunBatches(3);
  EXPECT_THAT(AddRequest("a", 1, 1), IsOk());
}

class ShortQueueTest : public BatcherFairnessTest {
 protected:
  static BatcherOptions ShortQueue() {
    BatcherOptions options = LongQueue();
    options.max_queue_wait = absl::Milliseconds(1);
    options.short_queue_tokens = 500;
    return options;
  }
  ShortQueueTest() : BatcherFairnessTest(ShortQueue()) {}
};

TEST_F(ShortQueueTest, RefusesNobodyHoweverSlowItMoves) {
  AddRequests("a", 24, 100);
  RunBatches(10);  // of 200 tokens; 400 are left
  EXPECT_THAT(AddRequest("a", 1, 100), IsOk());
  EXPECT_THAT(AddRequest("a", 1, 1), IsOk());  // behind 500
  EXPECT_THAT(AddRequest("a", 1, 1), StatusIs(absl::StatusCode::kResourceExhausted,
                                              HasSubstr("predicted to wait 501 ms")));
}

TEST_F(BatcherWaitTest, LetsBulkWorkWait) {
  AddRequests("a", 130, 100);
  RunBatches(10);
  EXPECT_THAT(AddRequest("a", Batcher::kMostInteractiveItems + 1, 10'000), IsOk());
  EXPECT_THAT(batcher_.Add(ItemsOf(MakeJob("a", WorkClass::kBulk), {10'000})), IsOk());
}

TEST_F(BatcherWaitTest, BulkWorkAndOtherClientsMakeNobodyWaitTooLong) {
  ASSERT_THAT(AddRequest("a", 1'000, 100), IsOk());
  AddRequests("a", 100, 100);
  RunBatches(10);
  EXPECT_THAT(AddRequest("b", 1, 100), IsOk());
}

TEST_F(BatcherWaitTest, ALargeRequestMayTakeLongerThanItMayWait) {
  AddRequests("a", 30, 100);
  RunBatches(10);
  EXPECT_THAT(AddRequest("a", 8, 10'000), IsOk());
}

}  // namespace
}  // namespace attune
