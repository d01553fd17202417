#include "server/precision_choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A CPU and a model as the test wants them. Fails the test if asked for what it was not given.
class FakeEvidence final : public PrecisionEvidence {
 public:
  absl::Status supported = absl::OkStatus();
  std::optional<double> bf16_speedup;
  std::optional<absl::StatusOr<QualityFigures>> quality;

  absl::Status Supported(Precision /*precision*/) override { return supported; }
  double Bf16Speedup() override {
    EXPECT_TRUE(bf16_speedup.has_value()) << "needlessly timed";
    return bf16_speedup.value_or(0);
  }
  absl::StatusOr<QualityFigures> Quality(Precision /*precision*/) override {
    EXPECT_TRUE(quality.has_value()) << "needlessly measured";
    return quality.value_or(QualityFigures());
  }
};

absl::Status NoSuchInstructions() {
  return absl::UnimplementedError("bf16 needs AVX512_BF16, which this CPU does not have");
}

QualityFigures Cosines(double mean, double min) {
  QualityFigures figures;
  figures.texts = 300;
  figures.mean_cosine = mean;
  figures.min_cosine = min;
  return figures;
}

TEST(PrecisionChoiceTest, F32NeedsNoEvidence) {
  FakeEvidence evidence;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const PrecisionChoice choice,
                              ChoosePrecision(Precision::kF32, evidence));
  EXPECT_EQ(choice.precision, Precision::kF32);
  EXPECT_EQ(choice.reason, "--precision f32");
  EXPECT_EQ(choice.quality, std::nullopt);
}

TEST(PrecisionChoiceTest, AWantedPrecisionPastTheGateRunsHoweverSlow) {
  FakeEvidence evidence;
  evidence.quality = Cosines(0.999, 0.995);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const PrecisionChoice choice,
                              ChoosePrecision(Precision::kInt8, evidence));
  EXPECT_EQ(choice.precision, Precision::kInt8);
  EXPECT_EQ(choice.quality, Cosines(0.999, 0.995));
  EXPECT_THAT(choice.reason, AllOf(HasSubstr("--precision int8"), HasSubstr("0.9990000"),
                                   HasSubstr("at least 0.997")));
}

TEST(PrecisionChoiceTest, AWantedPrecisionThatFailsTheGateIsRefusedWithFiguresAndAWayOut) {
  FakeEvidence evidence;
  evidence.quality = Cosines(0.96, 0.7);
  EXPECT_THAT(
      ChoosePrecision(Precision::kInt8, evidence),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("--precision int8 is refused"), HasSubstr("0.9600000"),
                     HasSubstr("at least 0.997"), HasSubstr("0.7000000"),
                     HasSubstr("at least 0.99)"), HasSubstr("use --precision f32 or auto"))));
}

TEST(PrecisionChoiceTest, AWantedPrecisionWithoutItsInstructionsIsRefusedByName) {
  FakeEvidence evidence;
  evidence.supported = NoSuchInstructions();
  EXPECT_THAT(ChoosePrecision(Precision::kBf16, evidence),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("--precision bf16"), HasSubstr("AVX512_BF16"))));
}

TEST(PrecisionChoiceTest, AWantedPrecisionThatCannotBeMeasuredIsAnError) {
  FakeEvidence evidence;
  evidence.quality = absl::InternalError("the text vector is not finite");
  EXPECT_THAT(ChoosePrecision(Precision::kInt8, evidence),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
}

TEST(PrecisionChoiceTest, AutoTakesBf16ThatIsFasterAndPassesTheGate) {
  FakeEvidence evidence;
  evidence.bf16_speedup = 1.9;
  evidence.quality = Cosines(0.99999, 0.99995);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const PrecisionChoice choice,
                              ChoosePrecision(std::nullopt, evidence));
  EXPECT_EQ(choice.precision, Precision::kBf16);
  EXPECT_EQ(choice.quality, Cosines(0.99999, 0.99995));
  EXPECT_THAT(choice.reason,
              AllOf(HasSubstr("auto: "), HasSubstr("1.90 times"), HasSubstr("0.9999900")));
}

TEST(PrecisionChoiceTest, NoMemoryToCompareIsAnErrorAndDecidesNothing) {
  FakeEvidence evidence;
  evidence.bf16_speedup = 1.9;
  evidence.quality = absl::ResourceExhaustedError("there is no memory to encode texts");
  EXPECT_THAT(ChoosePrecision(std::nullopt, evidence),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("--precision auto"), HasSubstr("no memory to encode texts"),
                             HasSubstr("--precision f32"))));
  EXPECT_THAT(ChoosePrecision(Precision::kInt8, evidence),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no memory")));
}

struct AutoF32Case {
  absl::Status supported;
  std::optional<double> bf16_speedup;
  std::optional<absl::StatusOr<QualityFigures>> quality;
  std::string reason_part;
};

TEST(PrecisionChoiceTest, AutoFallsBackToF32AndSaysWhy) {
  const std::vector<AutoF32Case> cases = {
      {NoSuchInstructions(), {}, {}, "AVX512_BF16"},
      {absl::OkStatus(), 0.5, {}, "bf16 runs at 0.50 times the speed of f32 here; it takes 1.2"},
      {absl::OkStatus(), 1.19, {}, "1.19 times"},
      {absl::OkStatus(), 1.9, Cosines(0.9999, 0.99), "fails the quality gate: mean cosine 0.9999"},
      {absl::OkStatus(), 1.9, absl::InternalError("not finite"), "not finite"},
  };
  for (const AutoF32Case& test : cases) {
    FakeEvidence evidence;
    evidence.supported = test.supported;
    evidence.bf16_speedup = test.bf16_speedup;
    evidence.quality = test.quality;
    ATTUNE_ASSERT_OK_AND_ASSIGN(const PrecisionChoice choice,
                                ChoosePrecision(std::nullopt, evidence));
    EXPECT_EQ(choice.precision, Precision::kF32) << test.reason_part;
    EXPECT_EQ(choice.quality, std::nullopt) << test.reason_part;
    EXPECT_THAT(choice.reason, AllOf(HasSubstr("auto: "), HasSubstr(test.reason_part)));
  }
}

}  // namespace
}  // namespace attune
