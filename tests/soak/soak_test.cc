// The mixed load, for a few seconds: what the soak program does for as long as it is told.

#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/soak/mixed_load.h"
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
using ::attune::testing::Tally;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
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
  plan.until = absl::Now() + absl::Seconds(2);
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

}  // namespace
}  // namespace attune
