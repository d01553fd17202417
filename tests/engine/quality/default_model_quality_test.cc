// The built-in texts and the gate on the default model, all-MiniLM-L6-v2. Needs the model's folder,
// as default_model_golden_test does.
#include <set>

#include "engine/ops/precision_probe.h"
#include "engine/quality/quality_gate.h"
#include "engine/quality/quality_texts.h"
#include "gtest/gtest.h"
#include "tests/golden/default_model.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::DefaultModelPath;

TEST(DefaultModelQualityTest, EveryBuiltInTextHas6To256TokensAndNoTwoHaveTheSame) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Engine> engine,
                              Engine::Load(DefaultModelPath()));
  std::set<std::vector<int32_t>> distinct;
  for (const std::string& text : QualityTexts()) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const Encoding encoding, engine->tokenizer().Encode(text, {}));
    EXPECT_GE(encoding.size(), 6) << text;
    EXPECT_LE(encoding.size(), 256) << text;
    distinct.insert(encoding.ids);
  }
  EXPECT_EQ(distinct.size(), QualityTexts().size());
}

class ReducedPrecisionTest : public ::testing::TestWithParam<Precision> {};

TEST_P(ReducedPrecisionTest, PassesTheGateOnTheDefaultModel) {
  const absl::Status supported = CheckPrecisionSupported(GetParam());
  if (!supported.ok()) GTEST_SKIP() << supported;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Engine> f32,
                              Engine::Load(DefaultModelPath()));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Engine> reduced,
                              Engine::Load(DefaultModelPath(), {.precision = GetParam()}));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const QualityFigures figures,
                              MeasureQuality(f32, reduced, QualityTexts(), /*threads=*/2));
  EXPECT_TRUE(PassesGate(GetParam(), figures)) << DescribeGate(GetParam(), figures);
}

INSTANTIATE_TEST_SUITE_P(All, ReducedPrecisionTest,
                         ::testing::Values(Precision::kBf16, Precision::kInt8),
                         [](const auto& test) { return std::string(PrecisionName(test.param)); });

}  // namespace
}  // namespace attune
