#include "server/idle_workers.h"

#include <atomic>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "engine/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/worker_pool.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::TinyModel;

// Work that tells when it has run.
class OneJob final : public Job {
 public:
  OneJob() : Job(std::make_shared<Call>(absl::InfiniteFuture())) {}
  bool runs_alone() const override { return true; }
  void RunAlone(Session&) override { ran_ = true; }
  void Fail(int64_t, absl::Status) override { FAIL(); }
  bool ran() const { return ran_; }

 private:
  std::atomic<bool> ran_{false};
};

// One worker with nothing to do, and the test as the thread that has.
class IdleWorkersTest : public ::testing::Test {
 protected:
  void StartWorker() {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const auto engine, Engine::Load(model_.path()));
    ATTUNE_ASSERT_OK_AND_ASSIGN(pool_, WorkerPool::Start(WorkerPoolOptions(), engine, batcher_));
    while (batcher_.idle_workers() == 0) std::this_thread::yield();
  }

  // Each part of a step waits for the other, so that it takes two threads.
  void RunAStepForTwo(EncoderTeam& team) {
    std::atomic<int> arrived{0};
    team.Run(seat_, 2, [&](EncoderSeat&, int) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
  }

  // A team with the worker in it, once it is idle; a leader who waited long for one invites nobody
  // for some passes.
  EncoderTeam* InviteOne() {
    EncoderTeam* team = nullptr;
    while (team == nullptr) team = idle_workers_.Invite(1);
    return team;
  }

  std::shared_ptr<OneJob> QueueAJob(int64_t tokens) {
    auto job = std::make_shared<OneJob>();
    EXPECT_THAT(batcher_.Add({{job, 0, tokens}}), IsOk());
    return job;
  }

  const TinyModel model_;
  Batcher batcher_{{}, RealClock()};
  IdleWorkers idle_workers_{batcher_};
  OpContext context_;
  RowScratch scratch_{ModelConfig(), Precision::kF32};
  EncoderSeat seat_{context_, scratch_};
  std::unique_ptr<WorkerPool> pool_;
};

TEST_F(IdleWorkersTest, NobodyIsInvitedWhereNobodyIsIdle) {
  EXPECT_EQ(idle_workers_.Invite(7), nullptr);
  EXPECT_EQ(batcher_.queued_tokens(), 0);
}

TEST_F(IdleWorkersTest, AnIdleWorkerTakesPart) {
  StartWorker();
  EncoderTeam* const team = idle_workers_.Invite(7);
  ASSERT_NE(team, nullptr);
  EXPECT_EQ(team->lanes(), 2);  // no more than are idle
  RunAStepForTwo(*team);
  if (!team->held_up()) RunAStepForTwo(*team);  // a leader who waited long goes on alone
  team->Dismiss();
  // Help is not counted as a batch.
  EXPECT_EQ(pool_->batches_run(), 0);
}

TEST_F(IdleWorkersTest, AHelperLeavesForWorkThatWaits) {
  StartWorker();
  // Again with another team where the system held the helper up, and the leader went on alone.
  for (bool held_up = true; held_up;) {
    EncoderTeam* const team = InviteOne();
    RunAStepForTwo(*team);
    const auto job = QueueAJob(1);
    while (!job->ran() && !team->held_up()) team->Run(seat_, 2, [](EncoderSeat&, int) {});
    held_up = team->held_up();
    if (!held_up) {
      EXPECT_EQ(team->lanes(), 1);
    }
    team->Dismiss();
    while (!job->ran()) std::this_thread::yield();
  }
}

TEST_F(IdleWorkersTest, AWorkerWhoComesTooLateGoesOnAtOnce) {
  StartWorker();
  EncoderTeam* const team = idle_workers_.Invite(1);
  ASSERT_NE(team, nullptr);
  team->Dismiss();
  const auto job = QueueAJob(1);
  pool_.reset();  // returns when everything queued has run
  EXPECT_TRUE(job->ran());
}

}  // namespace
}  // namespace attune
