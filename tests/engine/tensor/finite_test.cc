#include "engine/tensor/finite.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(AllFiniteTest, FindsNanAndInfinityAnywhere) {
  EXPECT_TRUE(AllFinite({}));
  std::vector<float> values(33, 1.0f);
  EXPECT_TRUE(AllFinite(values));
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const size_t place : {size_t{0}, size_t{16}, size_t{32}}) {
      std::vector<float> with_bad = values;
      with_bad[place] = bad;
      EXPECT_FALSE(AllFinite(with_bad)) << bad << " at " << place;
    }
  }
}

}  // namespace
}  // namespace attune
