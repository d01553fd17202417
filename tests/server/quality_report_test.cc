#include "server/quality_report.h"

#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/progress_bar.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

QualityFigures Figures(int64_t texts, double mean, double min) {
  return {.texts = texts,
          .mean_cosine = mean,
          .min_cosine = min,
          .max_difference = 0.0125,
          .neighbours = 10,
          .mean_overlap = 0.975,
          .worst_overlap = 0.7};
}

PrecisionReport Measured(Precision precision, double mean, double min) {
  PrecisionReport report;
  report.precision = precision;
  report.kernels = "native:avx512";
  report.built_in = Figures(300, mean, min);
  return report;
}

PrecisionReport Missing(Precision precision) {
  PrecisionReport report;
  report.precision = precision;
  report.missing = "int8 needs AVX512_VNNI";
  return report;
}

QualityReport ReportOf(std::vector<PrecisionReport> precisions) {
  return {.model = "some-model",
          .revision = "abc",
          .reference_kernels = "brg:avx512_core",
          .isa = "avx512_core",
          .precisions = std::move(precisions)};
}

TEST(QualityReportTest, PassesIfAllThatWasMeasuredDoes) {
  const PrecisionReport good = Measured(Precision::kBf16, 0.99999, 0.9999);
  const PrecisionReport bad = Measured(Precision::kInt8, 0.99, 0.9);
  const PrecisionReport missing = Missing(Precision::kInt8);
  EXPECT_TRUE(ReportOf({good}).passes());
  EXPECT_TRUE(ReportOf({good, missing}).passes());
  EXPECT_FALSE(ReportOf({good, bad}).passes());
  EXPECT_FALSE(ReportOf({missing}).passes());
  EXPECT_FALSE(ReportOf({}).passes());
}

TEST(QualityReportTest, TextHasFiguresLimitsAndVerdicts) {
  PrecisionReport int8 = Measured(Precision::kInt8, 0.99, 0.9);
  int8.given = Figures(1024, 0.98, 0.8);
  const std::string text = ToText(ReportOf({Measured(Precision::kBf16, 0.99999, 0.9999), int8}));
  EXPECT_THAT(text, AllOf(HasSubstr("some-model"), HasSubstr("bf16 passes: mean cosine 0.9999900"),
                          HasSubstr("int8 FAILS: mean cosine 0.9900000 (at least 0.997)"),
                          HasSubstr("0.9750"), HasSubstr("0.012500"), HasSubstr("given")));
}

TEST(QualityReportTest, TextSaysWhatTheCpuLacksInPlaceOfATable) {
  EXPECT_THAT(ToText(ReportOf({Missing(Precision::kInt8)})),
              AllOf(HasSubstr("int8: not measured: int8 needs AVX512_VNNI"),
                    Not(HasSubstr("mean cosine"))));
}

TEST(QualityReportTest, JsonHasTheSame) {
  PrecisionReport bf16 = Measured(Precision::kBf16, 0.99999, 0.9999);
  bf16.given = Figures(1024, 0.98, 0.8);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const Json json,
                              ParseJson(ToJson(ReportOf({bf16, Missing(Precision::kInt8)}))));
  EXPECT_EQ(json["passes"], true);
  EXPECT_EQ(json["precisions"][0]["precision"], "bf16");
  EXPECT_EQ(json["precisions"][0]["passes"], true);
  EXPECT_EQ(json["precisions"][0]["limits"]["min_cosine"], 0.9999);
  EXPECT_EQ(json["precisions"][0]["built_in_texts"]["mean_cosine"], 0.99999);
  EXPECT_EQ(json["precisions"][0]["given_texts"]["texts"], 1024);
  EXPECT_EQ(json["precisions"][1]["missing"], "int8 needs AVX512_VNNI");
  EXPECT_FALSE(json["precisions"][1].contains("built_in_texts"));
}

TEST(ProgressBarTest, FillsFromNothingToFull) {
  EXPECT_EQ(FormatProgressBar("bf16", 0, 4), "bf16 [--------------------------------]   0 %");
  EXPECT_EQ(FormatProgressBar("bf16", 1, 4), "bf16 [########------------------------]  25 %");
  EXPECT_EQ(FormatProgressBar("bf16", 4, 4), "bf16 [################################] 100 %");
  EXPECT_EQ(FormatProgressBar("bf16", 0, 0), "bf16 [################################] 100 %");
}

}  // namespace
}  // namespace attune
