#include "engine/ops/op_context.h"

#include <immintrin.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "engine/ops/denormals.h"
#include "engine/ops/kernels/kernels.h"
#include "gmock/gmock.h"

namespace attune {
namespace {

using ::testing::AnyOf;
using ::testing::MatchesRegex;

TEST(IsaTest, NamesAnInstructionSetThatIsKnown) {
  EXPECT_THAT(EffectiveIsa(), MatchesRegex("sse41|avx.*"));
}

TEST(IsaTest, ObeysTheCap) {
  const char* cap = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (cap == nullptr) return;  // the capped runs of this binary set it
  // A host may have less than the cap allows.
  if (__builtin_cpu_supports("avx512bw") || absl::string_view(cap) == "SSE41") {
    EXPECT_EQ(EffectiveIsa(), absl::AsciiStrToLower(cap));
  }
}

TEST(IsaTest, VectorKernelsObeyTheSameCapAsOneDnn) {
  const std::string target = internal::BestKernels().target;
  if (absl::StartsWith(EffectiveIsa(), "avx512")) {
    EXPECT_EQ(target, "AVX3");
  } else if (absl::StartsWith(EffectiveIsa(), "avx2")) {
    EXPECT_EQ(target, "AVX2");
  } else {
    EXPECT_THAT(target, AnyOf("SCALAR", "EMU128"));
  }
}

TEST(OneDnnVersionTest, HasThreeNumbers) {
  EXPECT_THAT(OneDnnVersion(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(ScopedFlushDenormalsTest, FlushesInsideAndRestoresAfterwards) {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  const unsigned before = _mm_getcsr();
  {
    const ScopedFlushDenormals flush_denormals;
    EXPECT_EQ(smallest / 2, 0.0f);
    EXPECT_EQ(denormal * 1e20f, 0.0f);
  }
  EXPECT_EQ(_mm_getcsr(), before);
  EXPECT_GT(smallest / 2, 0.0f);
}

}  // namespace
}  // namespace attune
