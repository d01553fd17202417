#include "server/stream_window.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(StreamWindowTest, ClosesAtItsItemsAndOpensWhenOneLeaves) {
  StreamWindow window(/*max_items=*/2, /*max_bytes=*/1'000);
  window.Enter(1);
  EXPECT_TRUE(window.HasRoom());
  window.Enter(1);
  EXPECT_FALSE(window.HasRoom());
  window.Leave(1);
  EXPECT_TRUE(window.HasRoom());
}

TEST(StreamWindowTest, ClosesAtItsBytes) {
  StreamWindow window(/*max_items=*/10, /*max_bytes=*/100);
  window.Enter(99);
  EXPECT_TRUE(window.HasRoom());
  window.Enter(1);
  EXPECT_FALSE(window.HasRoom());
}

TEST(StreamWindowTest, TakesAnItemLargerThanItselfAlone) {
  StreamWindow window(/*max_items=*/10, /*max_bytes=*/100);
  ASSERT_TRUE(window.HasRoom());
  window.Enter(1'000'000);
  EXPECT_FALSE(window.HasRoom());
  window.Leave(1'000'000);
  EXPECT_TRUE(window.HasRoom());
}

}  // namespace
}  // namespace attune
