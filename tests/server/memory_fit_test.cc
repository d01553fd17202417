#include "server/memory_fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::attune::testing::TinyModel;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;

class MemoryFitTest : public ::testing::Test {
 protected:
  MemoryFitTest() {
    options_.model = model_.path();
    options_.precision = "f32";
    cpus_.affinity = {0, 1};
  }

  MemoryFit Fit() const {
    const absl::StatusOr<MemoryFit> fit = FitMemory(options_, cpus_);
    EXPECT_THAT(fit, IsOk());
    return fit.ok() ? *fit : MemoryFit();
  }

  // With a limit that is so much less than what the server would take.
  MemoryFit FitWithout(int64_t bytes) {
    options_.memory_limit_bytes = (unlimited_ - bytes + 3) / 4 * 5;
    MemoryFit fit = Fit();
    EXPECT_LE(fit.plan.total(), UsableBytes(options_.memory_limit_bytes));
    return fit;
  }

  const TinyModel model_;
  CpuBudget cpus_;
  ServerOptions options_;
  int64_t unlimited_ = 0;

  void SetUp() override {
    // Larger than what any machine's control group allows of it.
    unlimited_ = Fit().plan.total();
    ASSERT_GT(unlimited_, 1024 * kMiB);
  }
};

TEST_F(MemoryFitTest, ChangesNothingThatFits) {
  const MemoryFit fit = FitWithout(0);
  EXPECT_THAT(fit.shrunk, IsEmpty());
  EXPECT_EQ(fit.limit_bytes, options_.memory_limit_bytes);
  EXPECT_EQ(fit.options.attention_budget_bytes, 256 * kMiB);
  EXPECT_EQ(fit.options.max_queue_tokens, 0);
}

TEST_F(MemoryFitTest, ShrinksAttentionFirstAndNoMoreThanIsNeeded) {
  const MemoryFit fit = FitWithout(100 * kMiB);
  EXPECT_THAT(fit.shrunk, ElementsAre("attention-budget"));
  EXPECT_NEAR(static_cast<double>(fit.options.attention_budget_bytes), 156.0 * kMiB, 16);
  EXPECT_EQ(fit.options.max_attention_reply_bytes, 64 * kMiB);
  EXPECT_EQ(fit.options.calls_budget_bytes, 512 * kMiB);
}

TEST_F(MemoryFitTest, NoMapMayBeLargerThanTheBudgetForAll) {
  const MemoryFit fit = FitWithout(230 * kMiB);
  EXPECT_EQ(fit.options.max_attention_reply_bytes, fit.options.attention_budget_bytes);
  EXPECT_THAT(Validate(fit.options), IsOk());
}

TEST_F(MemoryFitTest, ShrinksInTheOrderThatIsDocumented) {
  EXPECT_THAT(FitWithout(400 * kMiB).shrunk, ElementsAre("attention-budget", "calls-budget"));
  const MemoryFit fit = FitWithout(900 * kMiB);
  EXPECT_THAT(fit.shrunk, ElementsAre("attention-budget", "calls-budget", "grpc-memory-quota",
                                      "max-message-bytes"));
  EXPECT_LT(fit.options.max_message_bytes, 4 * kMiB);
  EXPECT_GT(fit.options.max_message_bytes, kMiB);
  EXPECT_THAT(Validate(fit.options), IsOk());
}

TEST_F(MemoryFitTest, LeavesAloneWhatTheOperatorHasSet) {
  options_.set_flags = {"attention-budget"};
  const MemoryFit fit = FitWithout(20 * kMiB);
  EXPECT_THAT(fit.shrunk, ElementsAre("calls-budget"));
  EXPECT_EQ(fit.options.attention_budget_bytes, 256 * kMiB);
}

TEST_F(MemoryFitTest, AQueueShrinksToWhatTheLargestRequestNeeds) {
  options_.max_queue_tokens = 40'000'000;
  options_.max_texts = 100;
  unlimited_ = Fit().plan.total();
  const MemoryFit fit = FitWithout(1500 * kMiB);
  EXPECT_THAT(fit.shrunk, ElementsAre("attention-budget", "calls-budget", "max-queue-tokens"));
  EXPECT_LT(fit.options.max_queue_tokens, 40'000'000);
  EXPECT_GE(fit.options.max_queue_tokens, 100 * 64);
}

TEST_F(MemoryFitTest, RefusesWhatCannotFitAndNamesTheTerms) {
  options_.memory_limit_bytes = 100 * kMiB;
  EXPECT_THAT(FitMemory(options_, cpus_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("the memory limit is 104857600 bytes, of which 83886080"),
                             HasSubstr("weights "), HasSubstr("attention_maps 4194304"),
                             HasSubstr(", total "))));
}

TEST_F(MemoryFitTest, AReloadNeedsASecondModelButNoSecondBudgets) {
  const MemoryPlan now = Fit().plan;
  const absl::StatusOr<MemoryPlan> plan = PlanReload(options_, cpus_, now, std::nullopt);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->other_model, now.of_model());
  EXPECT_EQ(plan->total(), now.total() + now.of_model());
  EXPECT_EQ(plan->calls, now.calls);

  EXPECT_THAT(PlanReload(options_, cpus_, now, plan->total() / 4 * 5 + 5), IsOk());
  EXPECT_THAT(PlanReload(options_, cpus_, now, now.total() / 4 * 5 + 5).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other_model ")));
}

}  // namespace
}  // namespace attune
