#include "engine/base/aligned_buffer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(AlignedBufferTest, StartsAtACacheLineAndIsZeroed) {
  for (size_t bytes : {1u, 63u, 64u, 65u, 4'097u}) {
    const AlignedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes,
                            [](std::byte value) { return value == std::byte{0}; }));
    EXPECT_EQ(buffer.size_bytes(), bytes);
  }
}

TEST(AlignedBufferTest, ALargeBlockStartsAtAHugePageAndIsZeroed) {
  constexpr size_t kHugePage = size_t{2} << 20;
  for (const size_t bytes : {kHugePage, 2 * kHugePage + 1}) {
    const AlignedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kHugePage, 0u) << bytes;
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes,
                            [](std::byte value) { return value == std::byte{0}; }));
  }
}

TEST(AlignedBufferTest, EmptyBufferHoldsNoMemory) {
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
}

TEST(AlignedBufferTest, MovingTakesTheMemoryAndLeavesNothingBehind) {
  AlignedBuffer from(256);
  const std::byte* memory = from.data();
  AlignedBuffer to(64);
  to = std::move(from);
  EXPECT_EQ(to.data(), memory);
  EXPECT_EQ(to.size_bytes(), 256u);
  EXPECT_EQ(from.data(), nullptr);  // NOLINT(bugprone-use-after-move): what the test is about
  EXPECT_EQ(from.size_bytes(), 0u);
}

}  // namespace
}  // namespace attune
