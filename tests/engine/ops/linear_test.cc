#include "engine/ops/linear.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/tensor/half.h"
#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/reference_ops.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::Copy;
using testing::DoubleMatrix;
using ::testing::HasSubstr;
using testing::RandomMatrix;
using testing::ReferenceActivation;
using testing::ReferenceLinear;
using testing::SameBits;
using testing::StatusIs;

struct Shape {
  int64_t in;
  int64_t out;
};

// The layers of the small BERT models, and shapes that fit no block.
const Shape kShapes[] = {{384, 1152}, {384, 384},  {384, 1536}, {1536, 384}, {768, 3072},
                         {3072, 768}, {1, 1},      {3, 5},      {17, 31},    {64, 67},
                         {1100, 48},  {2050, 130}, {127, 1}};

// The naive reference and a sanitizer make minutes of larger ones; they get fewer rows, or none
// where a smaller shape takes the same path.
constexpr int64_t kLargeShape = 200'000;

// Weights are scaled so that outputs are of order 1: the partial sums of `in` products are then of
// order 1 too and round to eps / 2 each, independently; 4 covers the largest of many outputs.
double Tolerance(int64_t in) { return 4 * testing::kEps * std::sqrt(static_cast<double>(in)); }

Matrix RandomWeights(Shape shape) {
  const float scale = std::sqrt(3.0f / static_cast<float>(shape.in));
  return RandomMatrix(shape.out, shape.in, scale, 1);
}

// Rows as a linear layer of `precision` sees them, in f32: the reference multiplies these, so that
// what is left to differ is the rounding of sums.
Matrix Rounded(ConstMatrixView rows, Precision precision) {
  Matrix result = Copy(rows);
  for (int64_t i = 0; i < rows.rows && precision != Precision::kF32; ++i) {
    const auto [low, high] = std::minmax_element(rows.row(i).begin(), rows.row(i).end());
    const float step = (*high - *low) / 255;
    for (float& value : result.row(i)) {
      value = precision == Precision::kBf16 ? Bf16ToF32(F32ToBf16(value))
              : step == 0                   ? *low
                          : *low + step * std::nearbyint((value - *low) * (1 / step));
    }
  }
  return result;
}

// The same for weights, which have a scale for each of their rows.
Matrix RoundedWeights(ConstMatrixView weights, Precision precision) {
  if (precision != Precision::kInt8) return Rounded(weights, precision);
  Matrix result = Copy(weights);
  for (int64_t i = 0; i < weights.rows; ++i) {
    float largest = 0;
    for (const float value : weights.row(i)) largest = std::max(largest, std::fabs(value));
    for (float& value : result.row(i)) {
      value = std::nearbyint(value * (127.0f / largest)) * (largest / 127.0f);
    }
  }
  return result;
}

// Packed rows back in f32.
Matrix Unpacked(LinearInputView packed) {
  Matrix rows(packed.rows, packed.cols);
  for (int64_t i = 0; i < packed.rows; ++i) {
    for (int64_t j = 0; j < packed.cols; ++j) {
      const int64_t at = i * packed.cols + j;
      rows.view().at(i, j) = packed.precision == Precision::kF32 ? packed.floats()[at]
                             : packed.precision == Precision::kBf16
                                 ? Bf16ToF32(packed.bf16()[at])
                                 : packed.ranges[i].low + packed.ranges[i].step * packed.u8()[at];
    }
  }
  return rows;
}

// `rows` in memory of their own, padded as linear layers demand.
class PaddedInput {
 public:
  PaddedInput(ConstMatrixView rows, Precision precision)
      : rows_(rows.rows), memory_(precision, Linear::PaddedRows(rows.rows), rows.cols) {
    PackLinearInput(rows, view());
  }
  LinearInputView view() { return memory_.view().Rows(0, rows_); }

 private:
  const int64_t rows_;
  LinearInput memory_;
};

Matrix RunLinear(const Linear& linear, OpContext& context, ConstMatrixView src) {
  PaddedInput input(src, linear.precision());
  Matrix padded_dst(Linear::PaddedRows(src.rows), linear.out());
  const MatrixView dst = padded_dst.view().Rows(0, src.rows);
  EXPECT_THAT(linear.Run(context, input.view(), dst), testing::IsOk());
  return Copy(dst);
}

// The result of adding to `before`.
Matrix RunLinearAdd(const Linear& linear, OpContext& context, ConstMatrixView src,
                    ConstMatrixView before) {
  PaddedInput input(src, linear.precision());
  Matrix padded_dst(Linear::PaddedRows(src.rows), linear.out());
  const MatrixView dst = padded_dst.view().Rows(0, src.rows);
  for (int64_t i = 0; i < dst.rows; ++i) {
    std::copy_n(before.row(i).data(), dst.cols, dst.row(i).data());
  }
  EXPECT_THAT(linear.RunAdd(context, input.view(), dst), testing::IsOk());
  return Copy(dst);
}

Matrix RunLinearActivation(const Linear& linear, OpContext& context, ConstMatrixView src,
                           Activation activation) {
  PaddedInput input(src, linear.precision());
  LinearInput dst(linear.precision(), Linear::PaddedRows(src.rows), linear.out());
  const LinearInputView rows = dst.view().Rows(0, src.rows);
  EXPECT_THAT(linear.RunActivation(context, input.view(), activation, rows), testing::IsOk());
  return Unpacked(rows);
}

// Every precision with every set of kernels; a pair that this CPU does not have is skipped.
class LinearOptionsTest : public ::testing::TestWithParam<std::tuple<Precision, LinearKernels>> {
 protected:
  void SetUp() override {
    const auto probe = Linear::Create(Matrix(1, 1).view(), std::vector<float>(1), options_);
    if (absl::IsUnimplemented(probe.status())) GTEST_SKIP() << probe.status();
  }

  std::unique_ptr<const Linear> MakeLinear(const Matrix& weights, const Matrix& bias) const {
    auto linear = Linear::Create(weights.view(), bias.span(), options_);
    EXPECT_TRUE(linear.ok()) << linear.status();
    return *std::move(linear);
  }

  DoubleMatrix Reference(ConstMatrixView src, const Matrix& weights, const Matrix& bias) const {
    return ReferenceLinear(DoubleMatrix(Rounded(src, options_.precision).view()),
                           RoundedWeights(weights.view(), options_.precision).view(), bias.span());
  }

  const LinearOptions options_ = {std::get<0>(GetParam()), std::get<1>(GetParam())};
  OpContext context_;
};

INSTANTIATE_TEST_SUITE_P(
    AllOptions, LinearOptionsTest,
    ::testing::Combine(::testing::Values(Precision::kF32, Precision::kBf16, Precision::kInt8),
                       ::testing::Values(LinearKernels::kOneDnn, LinearKernels::kNative)),
    [](const ::testing::TestParamInfo<std::tuple<Precision, LinearKernels>>& options) {
      const bool native = std::get<1>(options.param) == LinearKernels::kNative;
      return absl::StrCat(PrecisionName(std::get<0>(options.param)), native ? "Native" : "OneDnn");
    });

TEST_P(LinearOptionsTest, MatchesTheReferenceInEveryShape) {
  for (const Shape shape : kShapes) {
    const Matrix weights = RandomWeights(shape);
    const Matrix bias = RandomMatrix(1, shape.out, 1.0f, 2);
    const auto linear = MakeLinear(weights, bias);
    for (const int64_t rows : {1, 7, 8, 9, 33, 137}) {
      if (rows > 9 && shape.in * shape.out > kLargeShape) continue;
      const Matrix src = RandomMatrix(rows, shape.in, 1.0f, 3);
      const DoubleMatrix expected = Reference(src.view(), weights, bias);
      EXPECT_THAT(RunLinear(*linear, context_, src.view()).view(),
                  AllNear(expected, Tolerance(shape.in)))
          << shape.in << " to " << shape.out << ", rows " << rows;

      const Matrix before = RandomMatrix(rows, shape.out, 1.0f, 4);
      DoubleMatrix sum = expected;
      for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += before.span()[i];
      EXPECT_THAT(RunLinearAdd(*linear, context_, src.view(), before.view()).view(),
                  AllNear(sum, Tolerance(shape.in)))
          << "added, " << shape.in << " to " << shape.out << ", rows " << rows;
    }
  }
}

TEST_P(LinearOptionsTest, AppliesEveryActivationAndRoundsForTheNextLayer) {
  // What a kernel may spend on the activation itself: f32 as ApplyActivation, else a fraction of
  // the rounding that follows.
  const double activation_error = options_.precision == Precision::kF32 ? 2e-6 : 2.5e-4;
  const Shape shape = {384, 500};
  const Matrix weights = RandomWeights(shape);
  const Matrix bias = RandomMatrix(1, shape.out, 2.0f, 2);
  const auto linear = MakeLinear(weights, bias);
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu, Activation::kSilu}) {
    for (const int64_t rows : {1, 13, 70}) {
      const Matrix src = RandomMatrix(rows, shape.in, 1.5f, 3);
      DoubleMatrix expected = Reference(src.view(), weights, bias);
      double largest = 0;
      for (double& value : expected.values) {
        value = ReferenceActivation(activation, value);
        largest = std::max(largest, std::fabs(value));
      }
      // Half a unit in the last place of the result: 2^-8 of a bf16; in int8 half a step of a range
      // that is from -largest at worst.
      const double rounding = options_.precision == Precision::kF32    ? 0
                              : options_.precision == Precision::kBf16 ? largest / 256
                                                                       : 2 * largest / 255 / 2;
      EXPECT_THAT(RunLinearActivation(*linear, context_, src.view(), activation).view(),
                  AllNear(expected, rounding * 1.01 + activation_error + 2 * Tolerance(shape.in)))
          << "activation " << static_cast<int>(activation) << ", rows " << rows;
    }
  }
}

TEST_P(LinearOptionsTest, ARowsBitsDependOnThatRowAlone) {
  constexpr int64_t kRows = 300;
  for (const Shape shape : kShapes) {
    if (shape.in * shape.out > kLargeShape) continue;
    const auto linear = MakeLinear(RandomWeights(shape), RandomMatrix(1, shape.out, 1.0f, 2));
    const Matrix src = RandomMatrix(kRows, shape.in, 1.0f, 4);
    const Matrix all = RunLinear(*linear, context_, src.view());
    const Matrix all_added = RunLinearAdd(*linear, context_, src.view(), all.view());
    const Matrix all_activated =
        RunLinearActivation(*linear, context_, src.view(), Activation::kGelu);
    // Every row count and, with it, every position of a row within its group.
    for (int64_t rows = 1; rows <= 136; ++rows) {
      const int64_t begin = (rows * 37) % (kRows - rows);
      const int64_t end = begin + rows;
      const ConstMatrixView part = src.view().Rows(begin, end);
      ASSERT_THAT(RunLinear(*linear, context_, part).view(), SameBits(all.view().Rows(begin, end)))
          << shape.in << " to " << shape.out << ", rows " << rows << " from " << begin;
      if (rows % 7 != 0) continue;  // the others share the product
      ASSERT_THAT(RunLinearAdd(*linear, context_, part, all.view().Rows(begin, end)).view(),
                  SameBits(all_added.view().Rows(begin, end)));
      ASSERT_THAT(RunLinearActivation(*linear, context_, part, Activation::kGelu).view(),
                  SameBits(all_activated.view().Rows(begin, end)));
    }
  }
}

TEST_P(LinearOptionsTest, ANanOrInfinityMakesItsWholeRowNotFinite) {
  const auto linear = MakeLinear(RandomWeights({70, 90}), Matrix(1, 90));
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Matrix src = RandomMatrix(20, 70, 1.0f, 3);
    const Matrix clean = RunLinear(*linear, context_, src.view());
    src.view().at(11, 33) = bad;
    const Matrix dirty = RunLinear(*linear, context_, src.view());
    EXPECT_THAT(dirty.view().Rows(0, 11), SameBits(clean.view().Rows(0, 11)));
    EXPECT_THAT(dirty.view().Rows(12, 20), SameBits(clean.view().Rows(12, 20)));
    for (const float value : dirty.row(11)) EXPECT_FALSE(std::isfinite(value));
    const Matrix activated = RunLinearActivation(*linear, context_, src.view(), Activation::kGelu);
    const auto finite = [](float value) { return std::isfinite(value); };
    EXPECT_FALSE(std::all_of(activated.row(11).begin(), activated.row(11).end(), finite));
  }
}

TEST_P(LinearOptionsTest, CopiesWeightsAndBias) {
  Matrix weights = RandomWeights({16, 24});
  Matrix bias = RandomMatrix(1, 24, 1.0f, 2);
  const auto linear = MakeLinear(weights, bias);
  const Matrix src = RandomMatrix(3, 16, 1.0f, 3);
  const Matrix before = RunLinear(*linear, context_, src.view());
  std::fill(weights.span().begin(), weights.span().end(), 7.0f);
  std::fill(bias.span().begin(), bias.span().end(), 7.0f);
  EXPECT_THAT(RunLinear(*linear, context_, src.view()).view(), SameBits(before.view()));
}

TEST_P(LinearOptionsTest, TakesStridedWeights) {
  const Matrix wide = RandomMatrix(5, 40, 0.4f, 1);
  const Matrix weights = Copy(wide.view().Cols(10, 27));
  const Matrix bias = RandomMatrix(1, 5, 1.0f, 2);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const auto linear,
                              Linear::Create(wide.view().Cols(10, 27), bias.span(), options_));
  const Matrix src = RandomMatrix(4, 17, 1.0f, 3);
  EXPECT_THAT(RunLinear(*linear, context_, src.view()).view(),
              AllNear(Reference(src.view(), weights, bias), Tolerance(17)));
}

TEST_P(LinearOptionsTest, RunsOnThreadsThatDidNotCreateIt) {
  const auto linear = MakeLinear(RandomWeights({384, 1152}), Matrix(1, 1152));
  const Matrix src = RandomMatrix(70, 384, 1.0f, 3);
  const Matrix expected = RunLinear(*linear, context_, src.view());
  std::vector<Matrix> results(3);
  std::vector<std::thread> threads;
  for (Matrix& result : results) {
    threads.emplace_back([&linear, &src, &result] {
      OpContext own_context;
      result = RunLinear(*linear, own_context, src.view());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Matrix& result : results) EXPECT_THAT(result.view(), SameBits(expected.view()));
}

// C36: kernels that add neighbouring products in 16 bits make 32767 of the largest pairs.
TEST(Int8LinearTest, TheLargestProductsDoNotSaturate) {
  for (const LinearKernels kernels : {LinearKernels::kOneDnn, LinearKernels::kNative}) {
    const int64_t in = 64;
    Matrix weights(8, in);
    std::fill(weights.span().begin(), weights.span().end(), 1.0f);  // 127 of 127
    const auto linear =
        Linear::Create(weights.view(), std::vector<float>(8), {Precision::kInt8, kernels});
    if (absl::IsUnimplemented(linear.status())) continue;
    ASSERT_THAT(linear, testing::IsOk());
    Matrix src(1, in);
    std::fill(src.span().begin() + 1, src.span().end(), 255.0f);  // from 0 in steps of 1
    OpContext context;
    const Matrix result = RunLinear(**linear, context, src.view());
    for (const float value : result.span()) {
      EXPECT_FLOAT_EQ(value, 255.0f * static_cast<float>(in - 1));
    }
  }
}

TEST(LinearTest, OneDnnUsesItsBlockedKernelsWhereTheInstructionsExist) {
  const bool avx512 = absl::StartsWith(EffectiveIsa(), "avx512");
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    for (const Shape shape : {Shape{384, 1152}, Shape{384, 384}, Shape{384, 1536}, Shape{1536, 384},
                              Shape{768, 3072}, Shape{3072, 768}}) {
      const auto linear = Linear::Create(RandomWeights(shape).view(), Matrix(1, shape.out).span(),
                                         {precision, LinearKernels::kOneDnn});
      if (absl::IsUnimplemented(linear.status())) continue;
      ASSERT_THAT(linear, testing::IsOk());
      EXPECT_TRUE(absl::StrContains((*linear)->kernel_name(), "brg") || !avx512)
          << PrecisionName(precision) << ", " << shape.in << " to " << shape.out << ": "
          << (*linear)->kernel_name();
    }
  }
}

TEST(LinearTest, APrecisionWithoutItsInstructionsIsRefusedByName) {
  const std::string isa = EffectiveIsa();
  if (absl::StartsWith(isa, "avx512_core_")) GTEST_SKIP() << isa << " has them";
  const Matrix weights = RandomWeights({16, 16});
  for (const auto& [precision, name] :
       {std::pair{Precision::kBf16, "AVX512_BF16"}, std::pair{Precision::kInt8, "AVX512_VNNI"}}) {
    EXPECT_THAT(
        Linear::Create(weights.view(), std::vector<float>(16), {precision, LinearKernels::kOneDnn}),
        StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(name)));
  }
}

TEST(LinearTest, RefusesShapesThatDisagree) {
  const Matrix weights(4, 3);
  EXPECT_THAT(Linear::Create(weights.view(), std::vector<float>(5), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 outputs but a bias of 5")));
  EXPECT_THAT(Linear::Create(Matrix(0, 3).view(), {}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shape [0, 3]")));
}

}  // namespace
}  // namespace attune
