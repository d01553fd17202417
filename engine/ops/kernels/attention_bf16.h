// Private to engine/ops: attention whose products are of bf16, in AVX-512. What gemm.h says about
// -m flags and includes holds here too.
#ifndef ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_BF16_H_
#define ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_BF16_H_

#include <cstddef>
#include <cstdint>

#include "engine/ops/kernels/kernels.h"

namespace attune::internal {

// As attention_head and attention_scratch_floats of Kernels, but queries, keys, values and weights
// are rounded to bf16 before they are multiplied; sums and softmax are f32. The weights given to
// the caller are those before rounding. Needs avx512_core_bf16.
void AttentionHeadBf16(const AttentionHeadArgs& args);
size_t AttentionBf16ScratchFloats(int64_t seq, int64_t head_dim);

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_BF16_H_
