// What each mask of Attend lets a query see.
#include "engine/interpret/attend_mask.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/interpret/attend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::RandomMatrix;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSeq = 7;
constexpr double kRounding = 1e-6;  // 7 weights, each rounded to f32

AttendMask Window(int64_t left, int64_t right) {
  AttendMask mask;
  mask.kind = AttendMask::Kind::kWindow;
  mask.left = left;
  mask.right = right;
  return mask;
}

AttendMask Graph(std::vector<std::pair<int64_t, int64_t>> edges) {
  AttendMask mask;
  mask.kind = AttendMask::Kind::kGraph;
  mask.edges = std::move(edges);
  return mask;
}

AttendResult AttendMasked(const AttendMask& mask, AttendNormalizer normalizer) {
  AttendInput input;
  input.vectors = RandomMatrix(kSeq, 4, 3);
  input.heads = 2;
  input.mask = mask;
  input.normalizer = normalizer;
  absl::StatusOr<AttendResult> result = Attend(input);
  EXPECT_THAT(result, ::attune::testing::IsOk());
  return *std::move(result);
}

// Checks both heads: exactly 0 where `sees` is false, positive where it is true, rows of sum 1.
template <typename Sees>
void ExpectSoftmaxOver(const AttendMask& mask, const Sees& sees) {
  const AttendResult result = AttendMasked(mask, AttendNormalizer::kSoftmax);
  for (int64_t row = 0; row < result.weights.rows(); ++row) {
    const int64_t query = row % kSeq;
    for (int64_t key = 0; key < kSeq; ++key) {
      const float weight = result.weights.row(row)[static_cast<size_t>(key)];
      if (sees(query, key)) {
        EXPECT_GT(weight, 0) << "row " << row << ", key " << key;
      } else {
        EXPECT_EQ(weight, 0) << "row " << row << ", key " << key;
      }
    }
    const absl::Span<const float> weights = result.weights.row(row);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, kRounding);
  }
}

TEST(AttendMaskTest, FullShowsEveryKey) {
  ExpectSoftmaxOver(AttendMask(), [](int64_t, int64_t) { return true; });
}

TEST(AttendMaskTest, CausalIsExactlyZeroAboveTheDiagonal) {
  AttendMask mask;
  mask.kind = AttendMask::Kind::kCausal;
  ExpectSoftmaxOver(mask, [](int64_t query, int64_t key) { return key <= query; });
  EXPECT_EQ(AttendMasked(mask, AttendNormalizer::kSoftmax).weights.row(0)[0], 1);
}

TEST(AttendMaskTest, WindowReachesLeftAndRight) {
  for (const auto& [left, right] : {std::pair<int64_t, int64_t>{0, 0}, {2, 1}, {0, 3}, {7, 7}}) {
    ExpectSoftmaxOver(Window(left, right),
                      [left = left, right = right](int64_t query, int64_t key) {
                        return key >= query - left && key <= query + right;
                      });
  }
}

TEST(AttendMaskTest, GraphIsDirectedAndCountsARepeatedEdgeOnce) {
  const VisibleKeys visible(Graph({{2, 5}, {0, 1}, {2, 0}, {2, 5}, {6, 6}}), kSeq);
  EXPECT_THAT(visible.Of(0), ElementsAre(1));
  EXPECT_THAT(visible.Of(1), IsEmpty());
  EXPECT_THAT(visible.Of(2), ElementsAre(0, 5));
  EXPECT_THAT(visible.Of(5), IsEmpty());
  EXPECT_THAT(visible.Of(6), ElementsAre(6));
}

TEST(AttendMaskTest, GraphIsExactlyZeroWhereThereIsNoEdge) {
  const AttendResult result =
      AttendMasked(Graph({{0, 1}, {0, 2}, {1, 0}, {3, 3}}), AttendNormalizer::kSoftmax);
  for (const int64_t head_row : {int64_t{0}, kSeq}) {
    const ConstMatrixView weights = result.weights.view().Rows(head_row, head_row + kSeq);
    EXPECT_EQ(weights.at(0, 0), 0);
    EXPECT_FLOAT_EQ(weights.at(0, 1) + weights.at(0, 2), 1);
    EXPECT_EQ(weights.at(1, 0), 1);
    EXPECT_EQ(weights.at(3, 3), 1);
    for (int64_t key = 3; key < kSeq; ++key) EXPECT_EQ(weights.at(0, key), 0);
  }
}

TEST(AttendMaskTest, NodeWithoutNeighboursGetsAZeroRowNeverNan) {
  for (const auto normalizer : {AttendNormalizer::kSoftmax, AttendNormalizer::kRelu}) {
    const AttendResult result = AttendMasked(Graph({{0, 1}}), normalizer);
    for (int64_t node = 1; node < kSeq; ++node) {
      EXPECT_THAT(result.weights.row(node), Each(0));
      EXPECT_THAT(result.outputs.row(node), Each(0));
    }
  }
  const AttendResult isolated = AttendMasked(Graph({}), AttendNormalizer::kSoftmax);
  EXPECT_THAT(Flat(isolated.weights), Each(0));
  EXPECT_THAT(Flat(isolated.outputs), Each(0));
}

TEST(AttendMaskTest, ReluIsMaskedToo) {
  AttendMask mask;
  mask.kind = AttendMask::Kind::kCausal;
  const AttendResult result = AttendMasked(mask, AttendNormalizer::kRelu);
  for (int64_t row = 0; row < result.weights.rows(); ++row) {
    for (int64_t key = 0; key < kSeq; ++key) {
      const float score = result.scores.row(row)[static_cast<size_t>(key)];
      const float weight = result.weights.row(row)[static_cast<size_t>(key)];
      EXPECT_EQ(weight, key <= row % kSeq && score > 0 ? score : 0);
    }
  }
}

TEST(AttendMaskTest, ScoresAreReportedBeforeTheMask) {
  const AttendResult full = AttendMasked(AttendMask(), AttendNormalizer::kSoftmax);
  const AttendResult masked = AttendMasked(Window(1, 0), AttendNormalizer::kSoftmax);
  EXPECT_EQ(Flat(masked.scores), Flat(full.scores));
}

}  // namespace
}  // namespace attune
