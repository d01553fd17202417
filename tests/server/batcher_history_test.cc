// Random histories of a queue against a plain model of it. A failure prints its seed.

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batcher.h"
#include "tests/support/counting_job.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::CountingJob;
using ::attune::testing::FakeClock;
using ::attune::testing::ItemsOf;

constexpr int kHistories = 3'000;
constexpr int kSteps = 60;

BatcherOptions SmallQueue() {
  BatcherOptions options;
  options.max_queue_tokens = 400;
  options.max_queue_items = 60;
  options.max_batch_tokens = 32;
  options.max_batch_items = 6;
  return options;
}

// One history: a single thread adds, cancels, lets time pass and takes.
class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  void Run() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      switch (Random(0, 5)) {
        case 0:
        case 1:
          Add();
          break;
        case 2:
          Cancel();
          break;
        case 3:
          clock_.Advance(absl::Milliseconds(Random(0, 40)));
          break;
        default:
          // With nothing that anybody wants, Take would wait.
          if (AnyWanted()) Take();
      }
    }
    batcher_.Close();
    Add();
    for (std::vector<WorkItem> batch = batcher_.Take(); !batch.empty(); batch = batcher_.Take()) {
      CheckBatch(batch);
    }
    for (const Request& request : requests_) CheckEnd(request);
    EXPECT_EQ(batcher_.counts().queued_items, 0);
    EXPECT_EQ(batcher_.counts().queued_tokens, 0);
  }

 private:
  struct Request {
    std::shared_ptr<CountingJob> job;
    std::vector<int64_t> tokens;  // of each item
    std::vector<int> taken;       // how often
    bool added = false;
    bool cancelled = false;
    bool left = false;  // what waited of it has been dropped

    int64_t items_waiting() const {
      return left || !added ? 0 : std::count(taken.begin(), taken.end(), 0);
    }
    int64_t tokens_waiting() const {
      int64_t sum = 0;
      for (size_t i = 0; i < tokens.size(); ++i) sum += taken[i] == 0 ? tokens[i] : 0;
      return left || !added ? 0 : sum;
    }
  };

  int64_t Random(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

  bool Expired(const Request& request) const {
    return clock_.Now() >= request.job->call().deadline();
  }

  bool AnyWanted() const {
    return std::any_of(requests_.begin(), requests_.end(), [this](const Request& request) {
      return request.items_waiting() > 0 && !Expired(request);
    });
  }

  void Add() {
    Request request;
    const auto work_class = Random(0, 3) == 0 ? WorkClass::kBulk : WorkClass::kInteractive;
    request.job = std::make_shared<CountingJob>(
        std::make_shared<Call>(clock_.Now() + absl::Milliseconds(Random(0, 200)),
                               absl::StrCat("client", Random(0, 4)), work_class),
        /*alone=*/Random(0, 9) == 0);
    const bool weighs = Random(0, 9) > 0;
    request.tokens.resize(static_cast<size_t>(Random(1, Random(1, 20))));
    for (int64_t& tokens : request.tokens) tokens = weighs ? Random(1, 50) : 0;
    request.taken.resize(request.tokens.size());
    request.added = batcher_.Add(ItemsOf(request.job, request.tokens)).ok();
    requests_.push_back(std::move(request));
    LookForExpired();
    CheckCounts();
  }

  void Cancel() {
    if (requests_.empty()) return;
    Request& request =
        requests_[static_cast<size_t>(Random(0, static_cast<int64_t>(requests_.size()) - 1))];
    request.job->call().Cancel();
    request.cancelled = true;
    request.left = true;
    CheckCounts();
  }

  void Take() {
    LookForExpired();
    CheckBatch(batcher_.Take());
    CheckCounts();
  }

  // As the queue does whenever something is added or taken.
  void LookForExpired() {
    for (Request& request : requests_) request.left |= Expired(request);
  }

  void CheckBatch(const std::vector<WorkItem>& batch) {
    ASSERT_FALSE(batch.empty());
    if (batch.size() > 1) {
      EXPECT_LE(TotalTokens(batch), SmallQueue().max_batch_tokens);
      EXPECT_LE(batch.size(), static_cast<size_t>(SmallQueue().max_batch_items));
      for (const WorkItem& item : batch) EXPECT_FALSE(item.job->runs_alone());
    }
    for (const WorkItem& item : batch) {
      Request& request = Find(item);
      EXPECT_FALSE(request.cancelled);
      EXPECT_FALSE(Expired(request));
      // Earlier items of the request come before.
      for (int64_t i = 0; i < item.index; ++i) EXPECT_EQ(request.taken[static_cast<size_t>(i)], 1);
      EXPECT_EQ(request.taken[static_cast<size_t>(item.index)]++, 0);
    }
  }

  Request& Find(const WorkItem& item) {
    return *std::find_if(requests_.begin(), requests_.end(),
                         [&item](const Request& request) { return request.job == item.job; });
  }

  void CheckCounts() const {
    int64_t items = 0;
    int64_t tokens = 0;
    for (const Request& request : requests_) {
      if (request.tokens.front() > 0) items += request.items_waiting();
      tokens += request.tokens_waiting();
    }
    EXPECT_EQ(batcher_.counts().queued_items, items);
    EXPECT_EQ(batcher_.counts().queued_tokens, tokens);
  }

  static void CheckEnd(const Request& request) {
    for (size_t i = 0; i < request.tokens.size(); ++i) {
      const auto failed = request.job->times_failed().find(static_cast<int64_t>(i));
      const int times_failed = failed == request.job->times_failed().end() ? 0 : failed->second;
      EXPECT_EQ(request.taken[i] + times_failed, request.added ? 1 : 0);
    }
  }

  std::mt19937 random_;
  FakeClock clock_;
  Batcher batcher_{SmallQueue(), clock_};
  std::vector<Request> requests_;
};

TEST(BatcherHistoryTest, EveryItemIsTakenOnceOrFailedOnce) {
  for (unsigned seed = 0; seed < kHistories; ++seed) {
    History(seed).Run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace attune
