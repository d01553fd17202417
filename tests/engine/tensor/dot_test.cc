#include "engine/tensor/dot.h"

#include <vector>

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(DotTest, SumsEveryProductWhateverTheLength) {
  for (size_t length = 0; length < 40; ++length) {
    std::vector<float> a(length);
    std::vector<float> b(length);
    double expected = 0;
    for (size_t i = 0; i < length; ++i) {
      a[i] = static_cast<float>(i + 1);
      b[i] = static_cast<float>(3 * i) - 20;
      expected += double{a[i]} * double{b[i]};
    }
    EXPECT_EQ(Dot(a, b), expected) << length;  // whole numbers: no rounding in any order
  }
}

TEST(DotTest, KeepsWhatF32WouldLose) {
  const std::vector<float> a = {1e8f, 1, -1e8f};
  const std::vector<float> ones(3, 1.0f);
  EXPECT_EQ(Dot(a, ones), 1);
}

}  // namespace
}  // namespace attune
