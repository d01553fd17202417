#include "engine/ops/precision_probe.h"

#include <cstdlib>
#include <string>

#include "engine/ops/op_context.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PrecisionProbeTest, F32RunsEverywhere) {
  EXPECT_THAT(CheckPrecisionSupported(Precision::kF32), IsOk());
}

// The capped runs of this binary set the variable.
std::string Cap() {
  const char* cap = std::getenv("ONEDNN_MAX_CPU_ISA");
  return cap == nullptr ? "" : cap;
}

TEST(PrecisionProbeTest, ACapBelowAvx512Bf16TakesBf16Away) {
  const std::string cap = Cap();
  if (cap.empty() || cap == "AVX512_CORE_BF16") GTEST_SKIP() << "the CPU may have it";
  EXPECT_THAT(CheckPrecisionSupported(Precision::kBf16),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("bf16 needs AVX512_BF16"), HasSubstr(EffectiveIsa()))));
}

TEST(PrecisionProbeTest, ACapBelowAvx512VnniTakesInt8Away) {
  const std::string cap = Cap();
  if (cap != "SSE41" && cap != "AVX2" && cap != "AVX512_CORE")
    GTEST_SKIP() << "the CPU may have it";
  EXPECT_THAT(CheckPrecisionSupported(Precision::kInt8),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("int8 needs AVX512_VNNI"), HasSubstr(EffectiveIsa()))));
}

TEST(PrecisionProbeTest, TimesBf16ExactlyWhereTheCpuHasIt) {
  const bool has_bf16 = CheckPrecisionSupported(Precision::kBf16).ok();
  EXPECT_EQ(Bf16Speedup() > 0, has_bf16);
  if (!has_bf16) {
    EXPECT_LT(Bf16Speedup(), kMinBf16Speedup);
  }
}

}  // namespace
}  // namespace attune
