#include "engine/base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace attune {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

std::align_val_t AlignmentOf(size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage};
}

// The whole huge pages of a block only: a started one would hold memory that nobody asked for.
// Whether the system gives them is its business.
void AskForHugePages(std::byte* data, size_t bytes) {
  const size_t whole = bytes / kHugePage * kHugePage;
  if (whole > 0) madvise(data, whole, MADV_HUGEPAGE);
}

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) : size_bytes_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(::operator new(bytes, AlignmentOf(bytes)));
  AskForHugePages(data_, bytes);  // before the first touch
  std::memset(data_, 0, bytes);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  // By way of a temporary, so that what this held is freed now rather than when `other` dies.
  AlignedBuffer old;
  std::swap(old.data_, data_);
  std::swap(old.size_bytes_, size_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) ::operator delete(data_, AlignmentOf(size_bytes_));
}

}  // namespace attune
