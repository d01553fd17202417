#include "engine/ops/native_linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "engine/base/arena.h"
#include "engine/ops/activation.h"
#include "engine/ops/kernels/gemm.h"
#include "engine/tensor/half.h"
#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/reference_ops.h"
#include "tests/support/status_matchers.h"

// What linear_test says of every set of kernels is not said again here.
namespace attune::internal {
namespace {

using testing::AllNear;
using testing::DoubleMatrix;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kEps;
using testing::RandomMatrix;
using testing::ReferenceActivation;
using testing::ReferenceLinear;
using testing::SameBits;
using testing::StatusIs;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// bf16 has 8 significant bits: half a unit of the last, relatively, at most.
constexpr double kBf16Rounding = 1.0 / 256;

Matrix Bf16Rounded(Matrix values) {
  for (float& value : values.span()) value = Bf16ToF32(F32ToBf16(value));
  return values;
}

LinearInput Pack(Precision precision, ConstMatrixView values) {
  LinearInput packed(precision, values.rows, values.cols);
  PackLinearInput(values, packed.view());
  return packed;
}

std::unique_ptr<const LinearBackend> MakeLayer(NativeKernel kernel, const Matrix& weights,
                                               const Matrix& bias) {
  Arena arena(0);
  return MakeNativeLinear(kernel, weights.view(), bias.span(), arena);
}

std::vector<NativeKernel> Available(std::vector<NativeKernel> kernels) {
  std::erase_if(kernels, [](NativeKernel kernel) { return !CheckAvailable(kernel).ok(); });
  return kernels;
}

std::string Name(NativeKernel kernel) {
  switch (kernel) {
    case NativeKernel::kF32:
      return "F32";
    case NativeKernel::kBf16:
      return "Bf16";
    case NativeKernel::kWidenedBf16:
      return "WidenedBf16";
    case NativeKernel::kInt8:
      return "Int8";
  }
  return "";
}

class NativeKernelTest : public ::testing::TestWithParam<NativeKernel> {
 protected:
  Precision precision() const { return PrecisionOf(GetParam()); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NativeKernelTest);  // a cap may leave no kernel
INSTANTIATE_TEST_SUITE_P(
    Kernels, NativeKernelTest,
    ::testing::ValuesIn(Available({NativeKernel::kF32, NativeKernel::kBf16,
                                   NativeKernel::kWidenedBf16, NativeKernel::kInt8})),
    [](const ::testing::TestParamInfo<NativeKernel>& kernel) { return Name(kernel.param); });

// Of bf16's two kernels a process uses one, which linear_test sees: both must be right.
class Bf16KernelTest : public NativeKernelTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16KernelTest);
INSTANTIATE_TEST_SUITE_P(
    Kernels, Bf16KernelTest,
    ::testing::ValuesIn(Available({NativeKernel::kBf16, NativeKernel::kWidenedBf16})),
    [](const ::testing::TestParamInfo<NativeKernel>& kernel) { return Name(kernel.param); });

TEST_P(Bf16KernelTest, MatchesTheReference) {
  for (const int64_t in : {1, 17, 383, 384, 1536}) {
    for (const int64_t out : {1, 49, 384}) {
      const float scale = std::sqrt(3.0f / static_cast<float>(in));
      const Matrix weights = Bf16Rounded(RandomMatrix(out, in, scale, 1));
      const Matrix bias = RandomMatrix(1, out, 1.0f, 2);
      const auto layer = MakeLayer(GetParam(), weights, bias);
      const Matrix src = Bf16Rounded(RandomMatrix(21, in, 1.0f, 3));
      Matrix dst(21, out);
      OpContext context;
      ASSERT_THAT(layer->Run(context, Pack(precision(), src.view()).view(), dst.view()), IsOk());
      // Partial sums of order 1 round to eps / 2 each, independently; 4 covers the largest.
      EXPECT_THAT(dst.view(),
                  AllNear(ReferenceLinear(DoubleMatrix(src.view()), weights.view(), bias.span()),
                          4 * kEps * std::sqrt(static_cast<double>(in))))
          << in << " to " << out;
    }
  }
}

TEST_P(Bf16KernelTest, HasRowsThatDependOnThemselvesAlone) {
  const Matrix weights = RandomMatrix(100, 383, 0.1f, 1);
  const auto layer = MakeLayer(GetParam(), weights, RandomMatrix(1, 100, 1.0f, 2));
  LinearInput src = Pack(precision(), RandomMatrix(140, 383, 1.0f, 3).view());
  OpContext context;
  Matrix all(140, 100);
  ASSERT_THAT(layer->Run(context, src.view(), all.view()), IsOk());
  for (int64_t rows = 1; rows <= 40; ++rows) {
    Matrix part(rows, 100);
    ASSERT_THAT(layer->Run(context, src.view().Rows(rows, 2 * rows), part.view()), IsOk());
    ASSERT_THAT(part.view(), SameBits(all.view().Rows(rows, 2 * rows))) << rows << " rows";
  }
}

TEST_P(NativeKernelTest, WritesNothingButItsRows) {
  const Matrix weights = RandomMatrix(50, 48, 0.2f, 1);
  const auto layer = MakeLayer(GetParam(), weights, RandomMatrix(1, 50, 1.0f, 2));
  LinearInput src = Pack(precision(), RandomMatrix(5, 48, 1.0f, 3).view());
  Matrix dst(8, 50);
  std::fill(dst.span().begin(), dst.span().end(), 7.0f);
  OpContext context;
  ASSERT_THAT(layer->Run(context, src.view(), dst.view().Rows(2, 7)), IsOk());
  for (const int64_t row : {0, 1, 7}) {
    EXPECT_THAT(dst.row(row), ::testing::Each(7.0f)) << "row " << row;
  }
}

TEST_P(NativeKernelTest, CountsTheMemoryOfOnePackedCopy) {
  const Matrix weights = RandomMatrix(480, 384, 0.1f, 1);  // whole words and panels
  const auto layer = MakeLayer(GetParam(), weights, Matrix(1, 480));
  const int64_t per_output = precision() == Precision::kInt8 ? 3 * 4 : 4;
  EXPECT_EQ(layer->weight_bytes(), 480 * (384 * ElementBytes(precision()) + per_output));
}

// gelu of 48 values by a kernel: the bias on products of zeros. As f32.
std::vector<float> KernelGelu(NativeKernel kernel, const std::vector<float>& values) {
  alignas(64) const std::byte zeros[kPanelCols * 4] = {};
  const std::vector<float> ones(kPanelCols, 1.0f);
  std::vector<float> results(kPanelCols);
  GemmPanel args = {};
  args.src = zeros;
  args.src_stride = 4;
  const RowRange range = {.low = 0, .step = 1};
  args.src_ranges = &range;
  args.weights = zeros;
  args.bias = values.data();
  args.weight_scales = ones.data();
  args.column_sums = ones.data();
  args.dst = reinterpret_cast<std::byte*>(results.data());
  args.dst_stride = kPanelCols * 4;
  args.rows = 1;
  args.words = 1;
  GemmOf(kernel).gelu(args);
  if (PrecisionOf(kernel) == Precision::kBf16) {
    std::vector<uint16_t> halves(kPanelCols);
    std::memcpy(halves.data(), results.data(), halves.size() * sizeof(uint16_t));
    for (size_t i = 0; i < halves.size(); ++i) results[i] = Bf16ToF32(halves[i]);
  }
  return results;
}

TEST_P(NativeKernelTest, GeluKeepsToItsErrorBoundFromMinusTwelveToTwelve) {
  const double bound = precision() == Precision::kF32 ? 2e-6 : 2e-4;
  const double rounding = precision() == Precision::kBf16 ? kBf16Rounding : 0;
  constexpr int kSteps = 240000;  // of 1e-4
  std::vector<float> values(kPanelCols);
  for (int first = 0; first < kSteps; first += kPanelCols) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(first + static_cast<int>(i)) * 1e-4f - 12.0f;
    }
    const std::vector<float> results = KernelGelu(GetParam(), values);
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = ReferenceActivation(Activation::kGelu, values[i]);
      ASSERT_NEAR(results[i], expected, bound + rounding * (std::fabs(expected) + bound))
          << "x " << values[i];
    }
  }
}

TEST_P(NativeKernelTest, GeluKeepsLargeValuesNanAndInfinity) {
  std::vector<float> values(kPanelCols, 0.0f);
  values[0] = 1e6f;
  values[1] = -1e6f;
  values[2] = kNan;
  values[3] = kInfinity;
  values[4] = -kNan;
  const uint32_t full_payload = 0x7FFFFFFF;  // rounding carries out of it
  std::memcpy(&values[5], &full_payload, sizeof(full_payload));
  const std::vector<float> results = KernelGelu(GetParam(), values);
  EXPECT_NEAR(results[0], 1e6, 1e6 * kBf16Rounding);
  EXPECT_NEAR(results[1], 0, 2e-4);
  EXPECT_TRUE(std::isnan(results[2]));
  EXPECT_FALSE(std::isfinite(results[3]));
  EXPECT_TRUE(std::isnan(results[4]));
  EXPECT_TRUE(std::isnan(results[5]));
  EXPECT_EQ(results[6], 0.0f);
}

TEST(KernelGeluBitsTest, OfF32AreThoseOfApplyActivation) {
  if (!CheckAvailable(NativeKernel::kF32).ok()) return;
  for (int first = 0; first < 20000; first += kPanelCols) {
    std::vector<float> values(kPanelCols);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(first + static_cast<int>(i)) * 1e-3f - 10.0f;
    }
    const std::vector<float> results = KernelGelu(NativeKernel::kF32, values);
    ApplyActivation(Activation::kGelu, absl::MakeSpan(values));
    ASSERT_EQ(results, values) << "from " << first;
  }
}

TEST(BestNativeKernelTest, RefusesWhatTheInstructionSetLacks) {
  const std::string isa = EffectiveIsa();
  const bool avx512 = absl::StartsWith(isa, "avx512");
  const Matrix weights(3, 4);
  const Matrix bias(1, 3);
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    Arena arena(0);
    const auto linear = MakeNativeLinear(precision, weights.view(), bias.span(), arena);
    const bool needs_vnni = precision == Precision::kInt8;
    if (avx512 && !(needs_vnni && isa == "avx512_core")) {
      ASSERT_TRUE(linear.ok()) << linear.status();
      EXPECT_TRUE(absl::StartsWith((*linear)->kernel_name(), "native:avx512"));
    } else {
      EXPECT_THAT(linear.status(), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(isa)));
    }
  }
}

TEST(BestNativeKernelTest, WidensBf16WhereItsInstructionIsMissing) {
  if (EffectiveIsa() != "avx512_core" && EffectiveIsa() != "avx512_core_vnni") return;
  EXPECT_THAT(BestNativeKernel(Precision::kBf16),
              testing::IsOkAndHolds(NativeKernel::kWidenedBf16));
}

TEST(BestNativeKernelTest, ChoosesOnceForAProcess) {
  const auto first = BestNativeKernel(Precision::kBf16);
  const auto second = BestNativeKernel(Precision::kBf16);
  EXPECT_EQ(first.ok(), second.ok());
  if (first.ok()) {
    EXPECT_EQ(*first, *second);
  }
}

}  // namespace
}  // namespace attune::internal
