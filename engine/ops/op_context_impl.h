// Private to engine/ops: what an OpContext owns.
#ifndef ATTUNE_ENGINE_OPS_OP_CONTEXT_IMPL_H_
#define ATTUNE_ENGINE_OPS_OP_CONTEXT_IMPL_H_

#include <cstddef>

#include "engine/base/aligned_buffer.h"
#include "engine/ops/dnnl_compat.h"
#include "engine/ops/op_context.h"

namespace attune {

struct OpContext::Impl {
  dnnl::stream stream;
  AlignedBuffer matmul_scratch;     // oneDNN's user scratchpad
  AlignedBuffer staging;            // rows copied to reach a fixed row count
  AlignedBuffer linear_result;      // a product before the pass over it
  AlignedBuffer linear_row;         // one row of it after the pass
  AlignedBuffer gemm_src;           // a block of rows, copied or widened for our own kernels
  AlignedBuffer gemm_weights;       // one panel of weights, widened
  AlignedBuffer gemm_dst;           // results that do not go where they belong at once
  AlignedBuffer gemm_partial;       // a last panel with columns to spare
  AlignedBuffer attention_scratch;  // packed keys and values, score tile
  AlignedBuffer attention_weights;  // one head's [seq, seq], only when somebody asks for it
};

namespace internal {

// At least `bytes` of scratch in `buffer`, content undefined. Grows and never shrinks, so that a
// warmed-up thread allocates nothing.
inline std::byte* Scratch(AlignedBuffer& buffer, size_t bytes) {
  if (buffer.size_bytes() < bytes) {
    buffer = AlignedBuffer();  // free first: the old content is not needed
    buffer = AlignedBuffer(bytes);
  }
  return buffer.data();
}

inline float* ScratchFloats(AlignedBuffer& buffer, size_t floats) {
  Scratch(buffer, floats * sizeof(float));
  return buffer.floats();
}

}  // namespace internal
}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_OP_CONTEXT_IMPL_H_
