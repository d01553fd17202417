// Counts what a pass allocates, in the whole program: operator new is this file's.
#include "engine/model/encoder.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/engine/model/encoder/encoder_fixture.h"

namespace {

// All, and those that could hold activations: oneDNN allocates a few hundred bytes of bookkeeping
// at every call.
constexpr size_t kActivationBytes = 4096;
std::atomic<int> allocations{0};
std::atomic<int> large_allocations{0};

void* CountedAllocation(size_t bytes, size_t alignment) {
  ++allocations;
  if (bytes >= kActivationBytes) ++large_allocations;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return CountedAllocation(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return CountedAllocation(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace attune {
namespace {

using testing::EncoderFixture;
using testing::IsOk;
using testing::kPrecisionOf;
using testing::kPrecisions;
using testing::MakeBatch;
using testing::MiniLmFixture;
using testing::RandomText;

class EncoderAllocationTest : public EncoderFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, EncoderAllocationTest, kPrecisions, kPrecisionOf);
class MiniLmEncoderAllocationTest : public MiniLmFixture {};
INSTANTIATE_TEST_SUITE_P(Precisions, MiniLmEncoderAllocationTest, kPrecisions, kPrecisionOf);

TEST_P(EncoderAllocationTest, AllocatesNoActivationsOnceWarm) {
  const Batch large =
      MakeBatch({RandomText(300, config_.vocab, 1), RandomText(40, config_.vocab, 2)});
  const Batch small = MakeBatch({RandomText(17, config_.vocab, 3)});
  ASSERT_THAT(ForwardStatus(large), IsOk());
  const int before = large_allocations;
  ASSERT_THAT(ForwardStatus(small), IsOk());
  ASSERT_THAT(ForwardStatus(large), IsOk());
  EXPECT_EQ(large_allocations, before);
}

TEST_P(MiniLmEncoderAllocationTest, OwnKernelsAllocateNothingOnceWarm) {
  if (!absl::StartsWith(encoder_->kernel_name(), "native:")) {
    GTEST_SKIP() << "this CPU has none for this precision";
  }
  const Batch large =
      MakeBatch({RandomText(300, config_.vocab, 1), RandomText(40, config_.vocab, 2)});
  const Batch small = MakeBatch({RandomText(17, config_.vocab, 3)});
  ASSERT_THAT(ForwardStatus(large), IsOk());
  const int before = allocations;
  const bool small_ran = ForwardStatus(small).ok();
  const bool large_ran = ForwardStatus(large).ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(small_ran && large_ran);
}

}  // namespace
}  // namespace attune
