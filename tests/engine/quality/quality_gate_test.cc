#include "engine/quality/quality_gate.h"

#include <cmath>
#include <limits>

#include "engine/quality/quality_texts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;

QualityFigures Cosines(double mean, double min) {
  QualityFigures figures;
  figures.texts = 300;
  figures.mean_cosine = mean;
  figures.min_cosine = min;
  return figures;
}

TEST(QualityGateTest, BothCosinesMustReachTheLimits) {
  EXPECT_TRUE(PassesGate(Precision::kBf16, Cosines(0.99995, 0.9999)));
  EXPECT_FALSE(PassesGate(Precision::kBf16, Cosines(0.9999499, 0.9999)));
  EXPECT_FALSE(PassesGate(Precision::kBf16, Cosines(0.99999, 0.9998999)));
  EXPECT_TRUE(PassesGate(Precision::kInt8, Cosines(0.997, 0.99)));
  EXPECT_FALSE(PassesGate(Precision::kInt8, Cosines(0.9969, 0.99)));
  EXPECT_FALSE(PassesGate(Precision::kInt8, Cosines(0.999, 0.9899)));
}

TEST(QualityGateTest, ANanFails) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(PassesGate(Precision::kInt8, Cosines(nan, 1)));
  EXPECT_FALSE(PassesGate(Precision::kInt8, Cosines(1, nan)));
}

TEST(QualityGateTest, DescriptionHasFiguresLimitsAndTexts) {
  EXPECT_THAT(DescribeGate(Precision::kInt8, Cosines(0.99123456, 0.875)),
              AllOf(HasSubstr("mean cosine 0.9912346 (at least 0.997)"),
                    HasSubstr("min cosine 0.8750000 (at least 0.99)"), HasSubstr("300 texts")));
}

std::shared_ptr<const Engine> LoadTiny(uint64_t seed) {
  TinyModelOptions options;
  options.seed = seed;
  const TinyModel model(options);
  auto engine = Engine::Load(model.path());
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

TEST(QualityGateTest, AnEncoderAgainstItselfPasses) {
  const std::shared_ptr<const Engine> engine = LoadTiny(1);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const QualityFigures figures,
                              MeasureQuality(engine, engine, QualityTexts(), /*threads=*/1));
  EXPECT_TRUE(PassesGate(Precision::kBf16, figures));
  EXPECT_EQ(figures.texts, static_cast<int64_t>(QualityTexts().size()));
}

TEST(QualityGateTest, AnEncoderWithOtherWeightsFails) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const QualityFigures figures,
      MeasureQuality(LoadTiny(1), LoadTiny(2), QualityTexts(), /*threads=*/1));
  EXPECT_FALSE(PassesGate(Precision::kInt8, figures));
}

}  // namespace
}  // namespace attune
