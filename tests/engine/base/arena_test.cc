#include "engine/base/arena.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gtest/gtest.h"

namespace attune {
namespace {

bool IsZeroed(const std::byte* block, size_t bytes) {
  return std::all_of(block, block + bytes, [](std::byte value) { return value == std::byte{0}; });
}

TEST(ArenaTest, BlocksLieSideBySideEachAtACacheLine) {
  Arena arena(256);
  const auto first = arena.Allocate(1);
  const auto second = arena.Allocate(65);
  const auto third = arena.Allocate(64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.get()) % 64, 0u);
  EXPECT_EQ(second.get(), first.get() + 64);
  EXPECT_EQ(third.get(), first.get() + 192);
}

TEST(ArenaTest, WhatDoesNotFitGetsMemoryOfItsOwn) {
  Arena arena(100);
  const auto first = arena.Allocate(80);
  std::memset(first.get(), 1, 80);
  for (const size_t bytes : {1u, 64u, 1'000u}) {
    const auto own = arena.Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(own.get()) % 64, 0u);
    EXPECT_TRUE(IsZeroed(own.get(), bytes)) << bytes;
  }
  EXPECT_NE(Arena(0).Allocate(8), nullptr);
}

TEST(ArenaTest, ABlockOutlivesItsArenaAndItsNeighbours) {
  std::shared_ptr<std::byte> kept;
  {
    Arena arena(4'096);
    arena.Allocate(64);
    kept = arena.Allocate(64);
  }
  EXPECT_TRUE(IsZeroed(kept.get(), 64));
}

}  // namespace
}  // namespace attune
