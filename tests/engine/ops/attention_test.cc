#include "engine/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "tests/support/numeric.h"
#include "tests/support/reference_ops.h"

namespace attune {
namespace {

using testing::AllNear;
using testing::Copy;
using testing::DoubleMatrix;
using testing::RandomMatrix;
using testing::ReferenceAttention;
using testing::ReferenceSelfAttention;
using testing::SameBits;

// f32: scores are of order 1 with an error of some eps * sqrt(head_dim); a weight's relative error
// is the absolute error of its score, plus the exponential's and the sum's. bf16: queries, keys,
// weights and values are rounded, each by 2^-9 / sqrt(3) of itself as a standard deviation, of
// which 6 cover thousands of results.
double Tolerance(int64_t head_dim, AttentionProducts products) {
  if (products == AttentionProducts::kBf16) return 6 * std::sqrt(4.0) / (512 * std::sqrt(3.0));
  return 8 * testing::kEps * std::sqrt(static_cast<double>(head_dim));
}

// What the header of the attention maps promises about a row.
constexpr double kRowSumTolerance = 1e-5;

class WeightsRecorder final : public AttentionWeightsSink {
 public:
  // Wants every `step`-th head.
  explicit WeightsRecorder(int64_t step) : step_(step) {}
  bool Wants(int64_t head) override { return head % step_ == 0; }
  void OnWeights(int64_t head, ConstMatrixView weights) override {
    heads.push_back(head);
    matrices.push_back(Copy(weights));
  }

  std::vector<int64_t> heads;
  std::vector<Matrix> matrices;

 private:
  const int64_t step_;
};

Matrix Attend(OpContext& context, ConstMatrixView qkv, const AttentionShape& shape,
              AttentionWeightsSink* sink = nullptr) {
  Matrix dst(qkv.rows, qkv.cols / 3);
  SelfAttention(context, qkv, shape, dst.view(), sink);
  return dst;
}

const auto kAllProducts = ::testing::Values(AttentionProducts::kF32, AttentionProducts::kBf16);
std::string NameOf(AttentionProducts products) {
  return products == AttentionProducts::kBf16 ? "Bf16" : "F32";
}

// For each kind of products.
template <typename Case>
class ProductsTest : public ::testing::TestWithParam<std::tuple<Case, AttentionProducts>> {
 protected:
  void SetUp() override {
    if (!HasAttentionProducts(products_)) GTEST_SKIP() << "this CPU, as capped, has none";
  }

  const Case& param() const { return std::get<0>(this->GetParam()); }
  const AttentionProducts products_ = std::get<1>(this->GetParam());
  OpContext context_;
};

template <typename Case>
std::string NameOfCase(const ::testing::TestParamInfo<std::tuple<Case, AttentionProducts>>& test) {
  return NameOf(std::get<0>(test.param)) + NameOf(std::get<1>(test.param));
}

struct Shape {
  int64_t seq;
  int64_t heads;
  int64_t head_dim;
};
std::string NameOf(const Shape& shape) {
  return std::to_string(shape.seq) + "Tokens" + std::to_string(shape.heads) + "Heads" +
         std::to_string(shape.head_dim) + "Wide";
}

class AttentionShapeTest : public ProductsTest<Shape> {
 protected:
  const int64_t hidden_ = param().heads * param().head_dim;
  const Matrix qkv_ = RandomMatrix(param().seq, 3 * hidden_, 1.0f, 1);
  const AttentionShape shape_ = {
      .heads = param().heads, .window = {}, .range = {}, .products = products_};
};

TEST_P(AttentionShapeTest, MatchesTheReference) {
  const ReferenceAttention expected =
      ReferenceSelfAttention(DoubleMatrix(qkv_.view()), param().heads);
  WeightsRecorder recorder(1);
  const Matrix dst = Attend(context_, qkv_.view(), shape_, &recorder);
  EXPECT_THAT(dst.view(), AllNear(expected.dst, Tolerance(param().head_dim, products_)));
  ASSERT_EQ(recorder.matrices.size(), static_cast<size_t>(param().heads));
  for (size_t head = 0; head < recorder.matrices.size(); ++head) {
    EXPECT_THAT(recorder.matrices[head].view(),
                AllNear(expected.weights[head], Tolerance(param().head_dim, products_)))
        << "head " << head;
  }
}

TEST_P(AttentionShapeTest, RowsOfWeightsSumToOne) {
  WeightsRecorder recorder(1);
  Attend(context_, qkv_.view(), shape_, &recorder);
  for (const Matrix& weights : recorder.matrices) {
    for (int64_t i = 0; i < weights.rows(); ++i) {
      double sum = 0;
      for (const float weight : weights.row(i)) sum += weight;
      ASSERT_NEAR(sum, 1.0, kRowSumTolerance) << "row " << i;
    }
  }
}

TEST_P(AttentionShapeTest, AskingForWeightsChangesNoBit) {
  const Matrix plain = Attend(context_, qkv_.view(), shape_);
  for (const int64_t step : {1, 2}) {
    WeightsRecorder recorder(step);
    EXPECT_THAT(Attend(context_, qkv_.view(), shape_, &recorder).view(), SameBits(plain.view()));
    EXPECT_EQ(static_cast<int64_t>(recorder.heads.size()), (param().heads + step - 1) / step);
  }
}

TEST_P(AttentionShapeTest, DependsOnItsOwnRowsAlone) {
  const Matrix alone = Attend(context_, qkv_.view(), shape_);
  // The same rows between others of a wider matrix, after a longer sequence used the scratch.
  constexpr int64_t kOffset = 5;
  Matrix all = RandomMatrix(param().seq + 2 * kOffset, 3 * hidden_ + 7, 9.0f, 2);
  const MatrixView between = all.view().Rows(kOffset, kOffset + param().seq).Cols(0, 3 * hidden_);
  for (int64_t i = 0; i < param().seq; ++i) {
    std::copy_n(qkv_.row(i).data(), qkv_.cols(), between.row(i).data());
  }
  Attend(context_, all.view().Cols(0, 3 * hidden_), shape_);
  EXPECT_THAT(Attend(context_, between, shape_).view(), SameBits(alone.view()));
}

TEST_P(AttentionShapeTest, HeadsOneByOneHaveTheBitsOfAllTogether) {
  const int64_t heads = param().heads;
  const Matrix whole = Attend(context_, qkv_.view(), shape_);
  Matrix parts(qkv_.rows(), hidden_);
  for (int64_t head = heads - 1; head >= 0; --head) {
    AttentionShape one = shape_;
    one.range = {head, head + 1};
    SelfAttention(context_, qkv_.view(), one, parts.view(), nullptr);
  }
  EXPECT_THAT(parts.view(), SameBits(whole.view()));
}

TEST_P(AttentionShapeTest, WritesOnlyItsOwnColumns) {
  Matrix wide = RandomMatrix(param().seq, hidden_ + 9, 1.0f, 3);
  const Matrix before = Copy(wide.view());
  SelfAttention(context_, qkv_.view(), shape_, wide.view().Cols(0, hidden_), nullptr);
  EXPECT_THAT(wide.view().Cols(hidden_, hidden_ + 9),
              SameBits(before.view().Cols(hidden_, hidden_ + 9)));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionShapeTest,
    ::testing::Combine(::testing::Values(Shape{1, 1, 1}, Shape{1, 12, 32}, Shape{2, 3, 5},
                                         Shape{7, 2, 8}, Shape{8, 1, 64}, Shape{15, 2, 32},
                                         Shape{16, 12, 32}, Shape{17, 2, 33}, Shape{31, 2, 20},
                                         Shape{32, 3, 64}, Shape{33, 2, 32}, Shape{48, 1, 7},
                                         Shape{63, 1, 80}, Shape{64, 2, 16}, Shape{65, 1, 128},
                                         Shape{129, 2, 32}, Shape{300, 1, 96}, Shape{512, 2, 32},
                                         Shape{513, 1, 64}),
                       kAllProducts),
    NameOfCase<Shape>);

struct WindowCase {
  int64_t seq;
  AttentionWindow window;
};
std::string NameOf(const WindowCase& test) {
  const auto reach = [](int64_t keys) {
    return keys == AttentionWindow::kUnlimited ? std::string("All") : std::to_string(keys);
  };
  return std::to_string(test.seq) + "Tokens" + reach(test.window.before) + "Before" +
         reach(test.window.after) + "After";
}

class AttentionWindowTest : public ProductsTest<WindowCase> {
 protected:
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kHeadDim = 24;
  const int64_t seq_ = param().seq;
  const AttentionWindow window_ = param().window;
  const AttentionShape shape_ = {
      .heads = kHeads, .window = window_, .range = {}, .products = products_};
  const Matrix qkv_ = RandomMatrix(seq_, 3 * kHeads * kHeadDim, 1.0f, 1);
  Matrix dst_ = Matrix(seq_, kHeads* kHeadDim);
};

TEST_P(AttentionWindowTest, MatchesTheReference) {
  const ReferenceAttention expected =
      ReferenceSelfAttention(DoubleMatrix(qkv_.view()), kHeads, window_);
  WeightsRecorder recorder(1);
  SelfAttention(context_, qkv_.view(), shape_, dst_.view(), &recorder);
  EXPECT_THAT(dst_.view(), AllNear(expected.dst, Tolerance(kHeadDim, products_)));
  for (size_t head = 0; head < recorder.matrices.size(); ++head) {
    EXPECT_THAT(recorder.matrices[head].view(),
                AllNear(expected.weights[head], Tolerance(kHeadDim, products_)))
        << "head " << head;
  }
}

TEST_P(AttentionWindowTest, WeightsOutsideAreExactlyZero) {
  WeightsRecorder recorder(1);
  SelfAttention(context_, qkv_.view(), shape_, dst_.view(), &recorder);
  for (int64_t i = 0; i < seq_; ++i) {
    for (int64_t j = 0; j < seq_; ++j) {
      const bool seen = j < i ? i - j <= window_.before : j - i <= window_.after;
      const float weight = recorder.matrices.front().view().at(i, j);
      if (seen) {
        ASSERT_GT(weight, 0.0f) << i << " to " << j;
      } else {
        ASSERT_EQ(weight, 0.0f) << i << " to " << j;
      }
    }
  }
}

TEST_P(AttentionWindowTest, AskingForWeightsChangesNoBit) {
  SelfAttention(context_, qkv_.view(), shape_, dst_.view(), nullptr);
  const Matrix plain = Copy(dst_.view());
  WeightsRecorder recorder(2);
  SelfAttention(context_, qkv_.view(), shape_, dst_.view(), &recorder);
  EXPECT_THAT(dst_.view(), SameBits(plain.view()));
}

TEST_P(AttentionWindowTest, RowsOutsideTheWindowChangeNoBit) {
  SelfAttention(context_, qkv_.view(), shape_, dst_.view(), nullptr);
  const Matrix before = Copy(dst_.view());
  // A far larger key in the first row: it would take all the weight of whoever saw it.
  Matrix changed = Copy(qkv_.view());
  for (float& value : changed.row(0)) value *= 1000.0f;
  SelfAttention(context_, changed.view(), shape_, dst_.view(), nullptr);
  const int64_t first_blind = std::min(window_.before, seq_ - 1) + 1;
  EXPECT_THAT(dst_.view().Rows(first_blind, seq_), SameBits(before.view().Rows(first_blind, seq_)));
}

constexpr int64_t kUnlimited = AttentionWindow::kUnlimited;

INSTANTIATE_TEST_SUITE_P(
    Windows, AttentionWindowTest,
    ::testing::Combine(::testing::Values(WindowCase{1, {0, 0}}, WindowCase{40, {0, 0}},
                                         WindowCase{7, {2, 1}}, WindowCase{33, {5, 5}},
                                         WindowCase{33, {kUnlimited, 0}},
                                         WindowCase{50, {0, kUnlimited}},
                                         WindowCase{201, {kUnlimited, 0}},
                                         WindowCase{129, {16, 15}}, WindowCase{200, {64, 64}},
                                         WindowCase{200, {17, 90}}, WindowCase{130, {129, 128}}),
                       kAllProducts),
    NameOfCase<WindowCase>);

TEST_P(AttentionShapeTest, AWindowThatCoversTheSequenceChangesNoBit) {
  const Matrix plain = Attend(context_, qkv_.view(), shape_);
  const int64_t reach = param().seq - 1;
  Matrix dst(param().seq, hidden_);
  AttentionShape windowed = shape_;
  windowed.window = {reach, reach};
  SelfAttention(context_, qkv_.view(), windowed, dst.view(), nullptr);
  EXPECT_THAT(dst.view(), SameBits(plain.view()));
}

struct NoCase {};
std::string NameOf(NoCase /*none*/) { return ""; }

class AttentionTest : public ProductsTest<NoCase> {
 protected:
  const AttentionShape one_head_ = {.heads = 1, .window = {}, .range = {}, .products = products_};
};
INSTANTIATE_TEST_SUITE_P(Products, AttentionTest,
                         ::testing::Combine(::testing::Values(NoCase()), kAllProducts),
                         NameOfCase<NoCase>);

TEST_P(AttentionTest, RowsSumToOneOverThousandsOfTokens) {
  constexpr int64_t kSeq = 4099;
  const Matrix qkv = RandomMatrix(kSeq, 3 * 8, 1.0f, 1);
  WeightsRecorder recorder(1);
  Attend(context_, qkv.view(), one_head_, &recorder);
  const Matrix& weights = recorder.matrices.front();
  for (int64_t i = 0; i < kSeq; i += 61) {
    double sum = 0;
    for (const float weight : weights.row(i)) sum += weight;
    ASSERT_NEAR(sum, 1.0, kRowSumTolerance) << "row " << i;
  }
}

TEST_P(AttentionTest, LargeScoresNeitherOverflowNorVanish) {
  // Query 0 meets scores of +-3600: the largest key takes everything.
  Matrix qkv(3, 3 * 4);
  qkv.view().at(0, 0) = 120.0f;
  qkv.view().at(1, 4) = 60.0f;
  qkv.view().at(2, 4) = -60.0f;
  for (int64_t i = 0; i < 3; ++i) qkv.view().at(i, 8) = static_cast<float>(i);
  const Matrix dst = Attend(context_, qkv.view(), one_head_);
  EXPECT_EQ(dst.view().at(0, 0), 1.0f);
  // Queries 1 and 2 are zero: all scores equal, the plain mean of 0, 1 and 2.
  EXPECT_NEAR(dst.view().at(1, 0), 1.0, 4 * testing::kEps);
}

TEST_P(AttentionTest, NanReachesTheOutput) {
  Matrix qkv = RandomMatrix(20, 3 * 8, 1.0f, 1);
  qkv.view().at(7, 8 + 2) = std::nanf("");  // in a key: every query meets it
  const Matrix dst = Attend(context_, qkv.view(), one_head_);
  for (int64_t i = 0; i < dst.rows(); ++i) EXPECT_TRUE(std::isnan(dst.view().at(i, 0))) << i;
}

}  // namespace
}  // namespace attune
