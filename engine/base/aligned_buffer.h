#ifndef ATTUNE_ENGINE_BASE_ALIGNED_BUFFER_H_
#define ATTUNE_ENGINE_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>

namespace attune {

// Zeroed memory at a 64-byte boundary (a cache line and an AVX-512 register): the only raw
// allocation in the project. From 2 MiB on it starts at a 2 MiB boundary and asks for huge pages,
// whose address translations the CPU can all remember. Move-only; frees itself. Throws
// std::bad_alloc, which the worker that ran out of memory turns into RESOURCE_EXHAUSTED.
// Thread-compatible.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  float* floats() { return reinterpret_cast<float*>(data_); }
  const float* floats() const { return reinterpret_cast<const float*>(data_); }
  size_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_ALIGNED_BUFFER_H_
