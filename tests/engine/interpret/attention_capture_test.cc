#include "engine/interpret/attention_capture.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/interpret/test_matrices.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::Flat;
using ::attune::testing::IsOkAndHolds;
using ::attune::testing::MatrixOf;
using ::attune::testing::RandomMatrix;
using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ResolveSelectionTest, EmptyMeansAll) {
  EXPECT_THAT(ResolveSelection("layers", {}, 4), IsOkAndHolds(ElementsAre(0, 1, 2, 3)));
}

TEST(ResolveSelectionTest, SortsAndCountsNegativesFromTheLast) {
  EXPECT_THAT(ResolveSelection("layers", {5, -6, 2, -2}, 6), IsOkAndHolds(ElementsAre(0, 2, 4, 5)));
  EXPECT_THAT(ResolveSelection("heads", {-1}, 1), IsOkAndHolds(ElementsAre(0)));
}

TEST(ResolveSelectionTest, RefusesNumbersOutOfRange) {
  for (const int64_t value : {int64_t{6}, int64_t{-7}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
    EXPECT_THAT(ResolveSelection("layers", {0, value}, 6),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("layers"), HasSubstr(std::to_string(value)),
                               HasSubstr("0 to 5"), HasSubstr("-1 to -6"))));
  }
}

TEST(ResolveSelectionTest, RefusesANumberGivenTwice) {
  EXPECT_THAT(ResolveSelection("heads", {3, 3}, 12),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("heads holds 3"), HasSubstr("number 3 of 0 to 11"))));
  EXPECT_THAT(ResolveSelection("heads", {11, -1}, 12),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("heads holds -1"), HasSubstr("number 11"))));
}

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

TEST(AttentionCaptureTest, WantsChosenCellsOnly) {
  AttentionCapture capture({1, 4}, {0, 2}, 3);
  EXPECT_TRUE(capture.WantsWeights(1, 0));
  EXPECT_TRUE(capture.WantsWeights(4, 2));
  EXPECT_FALSE(capture.WantsWeights(0, 0));
  EXPECT_FALSE(capture.WantsWeights(2, 0));
  EXPECT_FALSE(capture.WantsWeights(5, 0));
  EXPECT_FALSE(capture.WantsWeights(1, 1));
  EXPECT_FALSE(capture.WantsWeights(1, 3));
}

TEST(AttentionCaptureTest, OrdersMatricesByLayerThenHead) {
  AttentionCapture capture({1, 4}, {0, 2}, 2);
  capture.OnWeights(0, 4, 2, MatrixOf({{13, 14}, {15, 16}}).view());
  capture.OnWeights(0, 1, 0, MatrixOf({{1, 2}, {3, 4}}).view());
  capture.OnWeights(0, 4, 0, MatrixOf({{9, 10}, {11, 12}}).view());
  capture.OnWeights(0, 1, 2, MatrixOf({{5, 6}, {7, 8}}).view());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string bytes, capture.TakeBytes());
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), AttentionCapture::SizeBytes(2, 2, 2));
  EXPECT_THAT(FloatsOf(bytes), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
}

TEST(AttentionCaptureTest, ReadsStridedViews) {
  AttentionCapture capture({0}, {0}, 2);
  capture.OnWeights(0, 0, 0, MatrixOf({{1, 2, 99}, {3, 4, 99}}).view().Cols(0, 2));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string bytes, capture.TakeBytes());
  EXPECT_THAT(FloatsOf(bytes), ElementsAre(1, 2, 3, 4));
}

TEST(AttentionCaptureTest, ReportsAMissingMatrix) {
  AttentionCapture capture({0, 1}, {0}, 2);
  capture.OnWeights(0, 0, 0, RandomMatrix(2, 2, 1).view());
  capture.OnWeights(0, 0, 0, RandomMatrix(2, 2, 1).view());
  EXPECT_THAT(capture.TakeBytes(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("left out 1 of 2")));
}

TEST(AttentionCaptureTest, ReportsAValueThatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    AttentionCapture capture({0}, {0}, 2);
    capture.OnWeights(0, 0, 0, MatrixOf({{1, 0}, {bad, 0}}).view());
    EXPECT_THAT(capture.TakeBytes(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
  }
}

TEST(AttentionCaptureTest, SizeSaturates) {
  EXPECT_EQ(AttentionCapture::SizeBytes(12, 12, 512), 150'994'944);
  EXPECT_EQ(AttentionCapture::SizeBytes(1000, 1000, int64_t{1} << 40),
            std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace attune
