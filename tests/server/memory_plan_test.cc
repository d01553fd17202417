#include "server/memory_plan.h"

#include <string>

#include "engine/model/encoder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

class MemoryPlanTest : public ::testing::Test {
 protected:
  MemoryPlanTest() {
    model_.vocab = 1000;
    model_.hidden = 64;
    model_.layers = 2;
    model_.heads = 4;
    model_.ffn = 128;
    model_.max_positions = 512;
    model_.type_vocab = 2;
    options_.precision = "f32";
    options_.threads = 2;
    options_.max_input_tokens = 256;
    ChooseQueueLimits(options_);
  }

  MemoryPlan Plan() const { return PlanMemory(model_, options_); }

  ModelConfig model_;
  ServerOptions options_;
};

TEST_F(MemoryPlanTest, AddsUpWhatTheOptionsAllow) {
  const MemoryPlan plan = Plan();
  // Its tables, its 2 layers, and a layer that is being packed.
  EXPECT_GE(plan.weights, (1514 * 64 + 3 * (4 * 64 * 64 + 2 * 64 * 128)) * 4);
  EXPECT_EQ(plan.activations, 2 * (1024 * (8 * 64 + 128) + 4 * 256 * 256) * 4);
  EXPECT_EQ(plan.queue, 2'048 * 256 * 32 + 16'384 * 512);
  EXPECT_EQ(plan.calls, 512 * kMiB);
  EXPECT_EQ(plan.attention_maps, 256 * kMiB);
  EXPECT_EQ(plan.grpc_buffers, 128 * kMiB);
  EXPECT_EQ(plan.other_model, 0);
  EXPECT_EQ(plan.total(), plan.of_model() + plan.calls + plan.attention_maps + plan.grpc_decoding +
                              plan.http_decoding + plan.grpc_buffers + plan.program);
  EXPECT_THAT(plan.ToString(), AllOf(HasSubstr("attention_maps 268435456, "),
                                     HasSubstr(", total " + std::to_string(plan.total()))));
}

TEST_F(MemoryPlanTest, CountsTheLargestPrecisionThatMayServe) {
  const int64_t f32 = Plan().weights;
  EXPECT_EQ(Plan().comparison, 0);
  options_.precision = "auto";
  EXPECT_EQ(Plan().weights, f32);
  for (const char* precision : {"bf16", "int8"}) {
    options_.precision = precision;
    EXPECT_LT(Plan().weights, f32) << precision;
  }
}

TEST_F(MemoryPlanTest, APrecisionThatIsComparedMayUseWhatCallsDoNotYet) {
  options_.precision = "bf16";
  EXPECT_EQ(Plan().comparison, 0);
  options_.max_queue_tokens = 1;
  options_.max_queue_items = 1;
  options_.max_message_bytes = 1;
  options_.calls_budget_bytes = 1000;
  options_.attention_budget_bytes = 10'000;
  const MemoryPlan plan = Plan();
  EXPECT_EQ(plan.comparison + plan.queue + plan.tokenizing + 11'000,
            Encoder::WeightBytes(model_, Precision::kF32));
}

TEST_F(MemoryPlanTest, BesideAModelThatServesAComparisonTakesMoreThanThat) {
  options_.precision = "int8";
  const MemoryPlan plan = PlanMemory(model_, options_, /*other_model=*/1'000);
  EXPECT_EQ(plan.other_model, 1'000);
  EXPECT_EQ(plan.comparison, Encoder::WeightBytes(model_, Precision::kF32));
  EXPECT_EQ(plan.total(), Plan().total() + 1'000 + plan.comparison);
}

TEST_F(MemoryPlanTest, LargerMessagesTakeMoreInEachStageThatHasThem) {
  const MemoryPlan small = Plan();
  options_.max_message_bytes *= 2;
  const MemoryPlan large = Plan();
  EXPECT_EQ(large.grpc_decoding, 2 * small.grpc_decoding);
  EXPECT_EQ(large.http_decoding, 2 * small.http_decoding);
  EXPECT_EQ(large.tokenizing, 2 * small.tokenizing);
  EXPECT_EQ(large.weights, small.weights);
}

TEST_F(MemoryPlanTest, APortThatIsOffTakesNothing) {
  EXPECT_GT(Plan().http_decoding, 16 * 4 * kMiB);
  options_.http_address = "off";
  EXPECT_EQ(Plan().http_decoding, 0);
}

}  // namespace
}  // namespace attune
