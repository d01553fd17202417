#include "engine/interpret/selection.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOkAndHolds;
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

TEST(ResolveSelectionTest, TakesRangesBesideNumbers) {
  EXPECT_THAT(ResolveSelection("layers", {0}, "layer_ranges", {{2, 4}, {-1, {}}}, 6),
              IsOkAndHolds(ElementsAre(0, 2, 3, 5)));
  EXPECT_THAT(ResolveSelection("layers", {}, "layer_ranges", {{-3, -1}}, 6),
              IsOkAndHolds(ElementsAre(3, 4)));
  EXPECT_THAT(ResolveSelection("layers", {}, "layer_ranges", {}, 3),
              IsOkAndHolds(ElementsAre(0, 1, 2)));
}

TEST(ResolveSelectionTest, RefusesRangesThatAreEmptyOrOutside) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<IndexRange> wrong = {{2, 2},      {3, 2},      {0, 7},       {6, {}},
                                         {-7, {}},    {0, -6},     {kLeast, {}}, {0, kMost},
                                         {kMost, {}}, {0, kLeast}, {-1, 3}};
  for (const IndexRange& range : wrong) {
    EXPECT_THAT(ResolveSelection("layers", {}, "layer_ranges", {range}, 6),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("layer_ranges holds"), HasSubstr("inside 0 to 6"))))
        << range.begin;
  }
}

TEST(ResolveSelectionTest, RefusesANumberThatRangesGiveTwice) {
  EXPECT_THAT(ResolveSelection("heads", {3}, "head_ranges", {{2, 4}}, 6),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("heads holds 3")));
  EXPECT_THAT(
      ResolveSelection("heads", {}, "head_ranges", std::vector<IndexRange>(1000, {0, {}}), 6),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("heads holds 0")));
}

}  // namespace
}  // namespace attune
