// The mixed load, for a few seconds: what the soak program does for as long as it is told.

#include <csignal>
#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/soak/mixed_load.h"
#include "tests/support/running_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Ending;
using ::attune::testing::IsOk;
using ::attune::testing::KnownTexts;
using ::attune::testing::LoadPlan;
using ::attune::testing::RunMixedLoad;
using ::attune::testing::RunningServer;
using ::attune::testing::Tally;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::testing::Ge;
using ::testing::Gt;

TEST(MixedLoadTest, EveryCallEndsOnceAndEveryAnswerIsItsOwn) {
  const TinyModel model(TinyModelOptions{});
  TestServer server(TestOptions(model.path()));
  const absl::StatusOr<KnownTexts> texts = KnownTexts::Ask(server.stub(), 50);
  ASSERT_THAT(texts.status(), IsOk());
  LoadPlan plan;
  plan.until = absl::Now() + absl::Seconds(3);
  const Tally tally = RunMixedLoad(server.NewChannel(), *texts, plan);
  EXPECT_EQ(tally.faults(), 0u) << tally.first_fault;
  EXPECT_EQ(tally.calls_ended(), tally.started);
  EXPECT_THAT(tally.of(Ending::kAnswered), Gt(0u));
  EXPECT_THAT(tally.of(Ending::kRejected), Gt(0u));
}

TEST(MixedLoadTest, ADrainInTheMiddleGivesNoWrongAnswer) {
  const TinyModel model(TinyModelOptions{});
  auto server = std::make_unique<TestServer>(TestOptions(model.path()));
  const absl::StatusOr<KnownTexts> texts = KnownTexts::Ask(server->stub(), 50);
  ASSERT_THAT(texts.status(), IsOk());
  LoadPlan plan;
  plan.until = absl::InfiniteFuture();  // the drain ends it
  std::thread drain([&] {
    absl::SleepFor(absl::Seconds(1));
    EXPECT_TRUE(server->server().Drain());
  });
  const Tally tally = RunMixedLoad(server->NewChannel(), *texts, plan);
  drain.join();
  EXPECT_EQ(tally.faults(), 0u) << tally.first_fault;
  EXPECT_EQ(tally.calls_ended(), tally.started);
  EXPECT_THAT(tally.of(Ending::kRefused), Gt(0u));
}

// The program, as it is stopped and reloaded in production.
TEST(MixedLoadTest, ReloadsAndADrainLoseDoubleAndMixUpNothing) {
  constexpr int kReloads = 5;
  const TinyModel model(TinyModelOptions{});
  RunningServer server(model.path());
  const absl::StatusOr<KnownTexts> texts = KnownTexts::Ask(server.stub(), 50);
  ASSERT_THAT(texts.status(), IsOk());
  std::thread operate([&server] {
    for (int i = 0; i < kReloads; ++i) {
      absl::SleepFor(absl::Milliseconds(200));
      server.program().Signal(SIGHUP);
      EXPECT_NE(server.program().ReadUntil("\"reloaded\""), "");
      EXPECT_NE(server.program().ReadUntil("\"old_model_freed\""), "");
    }
    server.program().Signal(SIGTERM);
    EXPECT_NE(server.program().ReadUntil("every admitted request was answered"), "");
  });
  LoadPlan plan;
  plan.until = absl::InfiniteFuture();  // the drain ends it
  const Tally tally = RunMixedLoad(server.NewChannel(), *texts, plan);
  operate.join();
  EXPECT_EQ(server.program().Wait(), 0);
  EXPECT_EQ(tally.faults(), 0u) << tally.first_fault;
  EXPECT_EQ(tally.calls_ended(), tally.started);
  EXPECT_THAT(tally.of(Ending::kAnswered), Gt(0u));
  EXPECT_THAT(tally.of(Ending::kCancelled), Gt(0u));
  // Each client heard of the drain, and none of it in any other way.
  EXPECT_THAT(tally.of(Ending::kRefused), Ge(static_cast<uint64_t>(plan.clients)));
}

}  // namespace
}  // namespace attune
