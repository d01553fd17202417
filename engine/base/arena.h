#ifndef ATTUNE_ENGINE_BASE_ARENA_H_
#define ATTUNE_ENGINE_BASE_ARENA_H_

#include <cstddef>
#include <memory>

#include "engine/base/aligned_buffer.h"

namespace attune {

// Blocks side by side in one piece of memory, for data that is written once and read for long: many
// blocks that are each too small for a huge page share some. Thread-compatible.
class Arena {
 public:
  // Room for `bytes` in one piece.
  explicit Arena(size_t bytes) : piece_(std::make_shared<AlignedBuffer>(bytes)) {}

  // A zeroed block at a 64-byte boundary, of the piece or, where that has no room left, of its own.
  // It keeps the memory alive, also after the arena is gone. Throws std::bad_alloc.
  std::shared_ptr<std::byte> Allocate(size_t bytes);

 private:
  std::shared_ptr<AlignedBuffer> piece_;
  size_t used_ = 0;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_ARENA_H_
