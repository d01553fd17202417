#include "engine/text/truncation.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(TruncationTest, KeepsWhatFits) {
  EXPECT_EQ(TruncateLongestFirst({2, 3}, 5), (PairLengths{2, 3}));
  EXPECT_EQ(TruncateLongestFirst({0, 0}, 0), (PairLengths{0, 0}));
}

TEST(TruncationTest, C21CutsTheLongerTextFirst) {
  EXPECT_EQ(TruncateLongestFirst({8, 2}, 5), (PairLengths{3, 2}));
  EXPECT_EQ(TruncateLongestFirst({2, 8}, 5), (PairLengths{2, 3}));
  EXPECT_EQ(TruncateLongestFirst({0, 10}, 5), (PairLengths{0, 5}));
}

TEST(TruncationTest, C21SplitsTheRoomWhenBothAreTooLong) {
  EXPECT_EQ(TruncateLongestFirst({4, 4}, 5), (PairLengths{2, 3}));
  EXPECT_EQ(TruncateLongestFirst({9, 3}, 5), (PairLengths{3, 2}));
  EXPECT_EQ(TruncateLongestFirst({9, 8}, 5), (PairLengths{3, 2}));
  EXPECT_EQ(TruncateLongestFirst({9, 8}, 0), (PairLengths{0, 0}));
}

TEST(TruncationTest, NeverExceedsTheRoomNorTheTexts) {
  for (int64_t first = 0; first < 12; ++first) {
    for (int64_t second = 0; second < 12; ++second) {
      for (int64_t room = 0; room < 25; ++room) {
        const PairLengths kept = TruncateLongestFirst({first, second}, room);
        ASSERT_LE(kept.first, first);
        ASSERT_LE(kept.second, second);
        ASSERT_EQ(kept.first + kept.second, std::min(first + second, room))
            << first << " " << second << " " << room;
      }
    }
  }
}

}  // namespace
}  // namespace attune
