// Attend on the worked examples of self-attention tutorials, and the laws it must obey.
#include "engine/interpret/attend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::CopyOf;
using ::attune::testing::Flat;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::attune::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// The examples are printed to six significant digits of numbers up to 1.
constexpr float kPrinted = 5e-7F;
// A result that passes through a few f32 roundings of values up to 10.
constexpr float kRounding = 1e-5F;

// Three words as 5-d vectors: raw similarity, no projections, no scale.
AttendInput ThreeWords() {
  AttendInput input;
  input.vectors = MatrixOf({{1, 2, 1, 2, 1}, {1, 1, 3, 2, 1}, {3, 1, 2, 1, 1}});
  input.score = AttendScore::kDot;
  return input;
}

// Three 4-d vectors with projections to 3 dimensions.
AttendInput ProjectedExample() {
  AttendInput input;
  input.vectors = MatrixOf({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}});
  input.query_projection = MatrixOf({{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}});
  input.key_projection = MatrixOf({{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}});
  input.value_projection = MatrixOf({{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}});
  input.score = AttendScore::kDot;
  return input;
}

TEST(AttendTest, RawSimilarityOfThreeWords) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(ThreeWords()));
  EXPECT_THAT(result.scores.row(0), ElementsAre(11, 11, 10));
  EXPECT_THAT(result.weights.row(0),
              Pointwise(FloatNear(kPrinted), {0.422319F, 0.422319F, 0.155362F}));
}

TEST(AttendTest, GivenWeightsAreUsedAsTheyAre) {
  AttendInput input = ThreeWords();
  input.score = AttendScore::kScaledDot;  // the default: nothing is scored
  input.given_weights = MatrixOf({{0.4F, 0.4F, 0.2F}, {0, 0, 0}, {-1, 0, 2}});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_EQ(result.scores.rows(), 0);
  EXPECT_EQ(Flat(result.weights), Flat(input.given_weights));
  EXPECT_THAT(result.outputs.row(0), Pointwise(FloatEq(), {1.4F, 1.4F, 2.0F, 1.8F, 1.0F}));
  EXPECT_THAT(result.outputs.row(1), Each(0));
  EXPECT_THAT(result.outputs.row(2), ElementsAre(5, 0, 3, 0, 1));
}

TEST(AttendTest, ProjectsToQueriesKeysAndValues) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(ProjectedExample()));
  EXPECT_THAT(Flat(result.queries), ElementsAre(1, 0, 2, 2, 2, 2, 2, 1, 3));
  EXPECT_THAT(Flat(result.keys), ElementsAre(0, 1, 1, 4, 4, 0, 2, 3, 1));
  EXPECT_THAT(Flat(result.values), ElementsAre(1, 2, 3, 2, 8, 0, 2, 6, 3));
  EXPECT_THAT(Flat(result.scores), ElementsAre(2, 4, 4, 4, 16, 12, 4, 12, 10));
}

TEST(AttendTest, SoftmaxOfTheProjectedExample) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(ProjectedExample()));
  // Five printed digits each.
  const std::vector<float> printed = {6.3379e-2F, 4.6831e-1F, 4.6831e-1F, 6.0337e-6F, 9.8201e-1F,
                                      1.7986e-2F, 2.9539e-4F, 8.8054e-1F, 1.1917e-1F};
  const std::vector<float> weights = Flat(result.weights);
  ASSERT_EQ(weights.size(), printed.size());
  for (size_t i = 0; i < printed.size(); ++i) {
    EXPECT_NEAR(weights[i], printed[i], 5e-5F * printed[i]) << "element " << i;
  }
}

TEST(AttendTest, OutputsOfTheProjectedExampleWithRoundedWeights) {
  AttendInput input = ProjectedExample();
  input.score = AttendScore::kScaledDot;
  input.given_weights = MatrixOf({{0, 0.5F, 0.5F}, {0, 1, 0}, {0, 0.9F, 0.1F}});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(Flat(result.outputs),
              Pointwise(FloatEq(), {2.0F, 7.0F, 1.5F, 2.0F, 8.0F, 0.0F, 2.0F, 7.8F, 0.3F}));
}

TEST(AttendTest, ScaledDotDividesByTheSquareRootOfHeadDim) {
  AttendInput input = ProjectedExample();
  input.score = AttendScore::kScaledDot;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(result.scores.row(0), Pointwise(FloatEq(), {2 / std::sqrt(3.0F), 4 / std::sqrt(3.0F),
                                                          4 / std::sqrt(3.0F)}));
  EXPECT_THAT(result.weights.row(0),
              Pointwise(FloatNear(kPrinted), {0.136126F, 0.431937F, 0.431937F}));
}

TEST(AttendTest, RowIsTheQueryAndColumnTheKey) {
  // The first vector attends to the second, but not the other way round.
  AttendInput input;
  input.vectors = MatrixOf({{1, 0}, {0, 1}});
  input.query_projection = MatrixOf({{9}, {0}});  // only the first vector asks
  input.key_projection = MatrixOf({{0}, {1}});    // only the second vector answers
  input.score = AttendScore::kDot;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(Flat(result.scores), ElementsAre(0, 9, 0, 0));
  EXPECT_GT(result.weights.row(0)[1], 0.999F);
  EXPECT_THAT(result.weights.row(1), ElementsAre(0.5F, 0.5F));
  EXPECT_THAT(result.outputs.row(1), ElementsAre(0.5F, 0.5F));
}

TEST(AttendTest, ReluIsNotRenormalised) {
  AttendInput input;
  input.vectors = MatrixOf({{1, 0}, {-2, 1}, {3, 1}});
  input.score = AttendScore::kDot;
  input.normalizer = AttendNormalizer::kRelu;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(Flat(result.scores), ElementsAre(1, -2, 3, -2, 5, -5, 3, -5, 10));
  EXPECT_THAT(Flat(result.weights), ElementsAre(1, 0, 3, 0, 5, 0, 3, 0, 10));
  EXPECT_THAT(result.outputs.row(0), ElementsAre(10, 3));
}

TEST(AttendTest, OutputProjectionFollowsTheConcatenatedHeads) {
  AttendInput input = ThreeWords();
  input.score = AttendScore::kScaledDot;
  input.given_weights = MatrixOf({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
  input.output_projection = MatrixOf({{1, 0}, {0, 1}, {0, 0}, {0, 0}, {10, 0}});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(Flat(result.outputs), ElementsAre(11, 2, 11, 1, 13, 1));
}

TEST(AttendTest, SoftmaxOfLargeScoresStaysFinite) {
  AttendInput input;
  input.vectors = MatrixOf({{1e4F}, {-1e4F}, {0}});
  input.score = AttendScore::kDot;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(result.weights.row(0), ElementsAre(1, 0, 0));
  EXPECT_THAT(result.weights.row(2), Each(FloatEq(1.0F / 3)));
}

// Every option that has a slice per head, with value_dim != head_dim.
AttendInput ManyHeads(AttendScore score) {
  AttendInput input;
  input.heads = 5;
  input.vectors = RandomMatrix(37, 11, 1);
  input.query_projection = RandomMatrix(11, 5 * 7, 2);
  input.key_projection = RandomMatrix(11, 5 * 7, 3);
  input.value_projection = RandomMatrix(11, 5 * 3, 4);
  input.score = score;
  if (score == AttendScore::kAdditive) input.additive_vector = RandomMatrix(1, 5 * 7, 5);
  return input;
}

// Head `head` of `input` as a call of its own.
AttendInput OneHead(const AttendInput& input, int64_t head) {
  const auto columns = [&](const Matrix& matrix) {
    const int64_t width = matrix.cols() / input.heads;
    return CopyOf(matrix.view().Cols(head * width, (head + 1) * width));
  };
  AttendInput single;
  single.vectors = CopyOf(input.vectors.view());
  single.query_projection = columns(input.query_projection);
  single.key_projection = columns(input.key_projection);
  single.value_projection = columns(input.value_projection);
  if (input.additive_vector.rows() > 0) single.additive_vector = columns(input.additive_vector);
  single.score = input.score;
  return single;
}

class AttendHeadsTest : public ::testing::TestWithParam<AttendScore> {};

TEST_P(AttendHeadsTest, HeadsAreSingleHeadCallsConcatenatedBitForBit) {
  const AttendInput input = ManyHeads(GetParam());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult all, Attend(input));
  const int64_t seq = input.vectors.rows();
  for (int64_t head = 0; head < input.heads; ++head) {
    ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult one, Attend(OneHead(input, head)));
    const int64_t value_dim = one.outputs.cols();
    EXPECT_EQ(Flat(all.scores.view().Rows(head * seq, (head + 1) * seq)), Flat(one.scores));
    EXPECT_EQ(Flat(all.weights.view().Rows(head * seq, (head + 1) * seq)), Flat(one.weights));
    EXPECT_EQ(Flat(all.outputs.view().Cols(head * value_dim, (head + 1) * value_dim)),
              Flat(one.outputs));
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, AttendHeadsTest,
                         ::testing::Values(AttendScore::kScaledDot, AttendScore::kDot,
                                           AttendScore::kAdditive));

// The rows of `src` in the order of `order`.
Matrix Reordered(const Matrix& src, const std::vector<int64_t>& order) {
  Matrix dst(src.rows(), src.cols());
  for (size_t i = 0; i < order.size(); ++i) {
    const absl::Span<const float> row = src.row(order[i]);
    std::copy(row.begin(), row.end(), dst.row(static_cast<int64_t>(i)).begin());
  }
  return dst;
}

// The largest difference between the outputs of permuted vectors and the permuted outputs.
double PermutationError(AttendPosition position) {
  const std::vector<int64_t> order = {4, 2, 0, 5, 1, 3};
  AttendInput input;
  input.vectors = RandomMatrix(6, 8, 11);
  input.heads = 2;
  input.position = position;
  AttendInput permuted;
  permuted.vectors = Reordered(input.vectors, order);
  permuted.heads = 2;
  permuted.position = position;
  const auto in_order = Attend(input);
  const auto shuffled = Attend(permuted);
  EXPECT_THAT(in_order, ::attune::testing::IsOk());
  EXPECT_THAT(shuffled, ::attune::testing::IsOk());
  const std::vector<float> expected = Flat(Reordered(in_order->outputs, order));
  const std::vector<float> actual = Flat(shuffled->outputs);
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]} - actual[i]));
  }
  return largest;
}

TEST(AttendTest, WithoutPositionsPermutedInputGivesPermutedOutput) {
  EXPECT_LE(PermutationError(AttendPosition::kNone), kRounding);
}

TEST(AttendTest, WithPositionsOrderMatters) {
  EXPECT_GT(PermutationError(AttendPosition::kSinusoidal), 0.01);
}

TEST(AttendTest, PositionsAreAddedBeforeTheProjections) {
  AttendInput input;
  input.vectors = MatrixOf({{1, 1}, {1, 1}});
  input.position = AttendPosition::kSinusoidal;
  input.query_projection = MatrixOf({{2}, {0}});
  input.key_projection = MatrixOf({{0}, {2}});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(Flat(result.values),
              Pointwise(FloatEq(), {1.0F, 2.0F, 1 + std::sin(1.0F), 1 + std::cos(1.0F)}));
  EXPECT_THAT(Flat(result.queries), Pointwise(FloatEq(), {2.0F, 2 + 2 * std::sin(1.0F)}));
  EXPECT_THAT(Flat(result.keys), Pointwise(FloatEq(), {4.0F, 2 + 2 * std::cos(1.0F)}));
}

// Words, speech frames, pixels, graph nodes: any number of vectors of any size, one alone included.
TEST(AttendTest, TakesAnyNumberOfVectorsOfAnySize) {
  for (const int64_t seq : {1, 2, 31, 32, 33, 257, 2048}) {
    for (const int64_t dim : {1, 3, 40}) {
      AttendInput input;
      input.vectors = RandomMatrix(seq, dim, 7);
      ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
      ASSERT_EQ(result.outputs.rows(), seq);
      ASSERT_EQ(result.outputs.cols(), dim);
      for (int64_t i = 0; i < seq; ++i) {
        const absl::Span<const float> row = result.weights.row(i);
        EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, kRounding)
            << "row " << i << " of seq " << seq << ", dim " << dim;
      }
    }
  }
}

TEST(AttendTest, OneVectorAttendsToItself) {
  AttendInput input;
  input.vectors = MatrixOf({{3, -4}});
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  EXPECT_THAT(Flat(result.weights), ElementsAre(1));
  EXPECT_THAT(Flat(result.outputs), ElementsAre(3, -4));
}

TEST(AttendTest, StopsWhenAsked) {
  const AttendInput input = ManyHeads(AttendScore::kScaledDot);
  int64_t questions = 0;
  ATTUNE_ASSERT_OK_AND_ASSIGN([[maybe_unused]] const AttendResult result, Attend(input, [&] {
                                ++questions;
                                return false;
                              }));
  // 37 vectors are two blocks: in three projections, and per head in the scores and in the sums.
  EXPECT_EQ(questions, 3 * 2 + 5 * 2 * 2);
  for (int64_t stop_at = 1; stop_at <= questions; ++stop_at) {
    int64_t asked = 0;
    EXPECT_THAT(Attend(input, [&] { return ++asked == stop_at; }),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
    EXPECT_EQ(asked, stop_at);
  }
}

TEST(AttendTest, ReportsTheBytesOfItsResultBeforehand) {
  AttendInput input = ManyHeads(AttendScore::kScaledDot);
  input.output_projection = RandomMatrix(5 * 3, 4, 6);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttendResult result, Attend(input));
  size_t floats = 0;
  for (const Matrix* matrix : {&result.queries, &result.keys, &result.values, &result.scores,
                               &result.weights, &result.outputs}) {
    floats += matrix->span().size();
  }
  EXPECT_EQ(AttendResultBytes(input), static_cast<int64_t>(floats * sizeof(float)));
  input.given_weights = Matrix(5 * 37, 37);
  EXPECT_EQ(AttendResultBytes(input), static_cast<int64_t>((floats - 5 * 37 * 37) * sizeof(float)));
}

}  // namespace
}  // namespace attune
