#include "client/cli/percentile.h"

#include <numeric>
#include <vector>

#include "gmock/gmock.h"

namespace attune::cli {
namespace {

TEST(PercentileTest, IsTheNearestRank) {
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 1.0);
  EXPECT_EQ(Percentile(values, 0), 1);
  EXPECT_EQ(Percentile(values, 50), 500);
  EXPECT_EQ(Percentile(values, 99), 990);
  EXPECT_EQ(Percentile(values, 99.9), 999);
  EXPECT_EQ(Percentile(values, 100), 1000);
}

TEST(PercentileTest, OfFewValuesIsOneOfThem) {
  const std::vector<double> two = {1, 10};
  EXPECT_EQ(Percentile(two, 50), 1);
  EXPECT_EQ(Percentile(two, 51), 10);
  EXPECT_EQ(Percentile(std::vector<double>{7}, 99.9), 7);
  EXPECT_EQ(Percentile({}, 50), 0);
}

}  // namespace
}  // namespace attune::cli
