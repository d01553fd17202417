// Private to engine/ops: the vector kernels, compiled once per instruction set and chosen once per
// process. Written with Highway; see the *-inl.h files beside this one.
#ifndef ATTUNE_ENGINE_OPS_KERNELS_KERNELS_H_
#define ATTUNE_ENGINE_OPS_KERNELS_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "engine/ops/row_range.h"

namespace attune::internal {

struct LayerNormArgs {
  const float* gamma;  // [hidden]
  const float* beta;   // [hidden]
  float epsilon;
  size_t hidden;
};

// One row of integer sums of products with u8 inputs.
struct DequantizeArgs {
  const int32_t* sums = nullptr;       // [n]
  const float* scales = nullptr;       // [n], of the weights
  const float* column_sums = nullptr;  // [n], of the weights over all inputs
  const float* bias = nullptr;         // [n]
  size_t n = 0;
  RowRange range = {};  // of the inputs
};

// One head of one sequence. Pointers to the head's first column; row i is at i * stride.
struct AttentionHeadArgs {
  const float* queries;
  const float* keys;
  const float* values;
  int64_t qkv_stride;
  int64_t seq;
  int64_t head_dim;
  int64_t keys_before;  // how many keys before and after itself a query sees, at most seq
  int64_t keys_after;
  float score_scale;  // scores are multiplied by this
  float* dst;
  int64_t dst_stride;
  float* weights;  // [seq, seq] dense, or null
  float* scratch;  // attention_scratch_floats, 64-byte aligned
};

struct Kernels {
  const char* target;  // Highway's name of the instruction set

  // In place, values[n].
  void (*gelu)(float* values, size_t n);
  void (*gelu_tanh)(float* values, size_t n);
  void (*relu)(float* values, size_t n);
  void (*silu)(float* values, size_t n);

  // dst[n] = row[n] as bfloat16, to nearest even; NaN stays NaN.
  void (*pack_bf16)(const float* row, size_t n, uint16_t* dst);
  // dst[n] = round((row[n] - low) / step), to nearest even. Returns the range, from the row's least
  // value to its largest; NaN if anything in the row is not finite.
  RowRange (*pack_u8)(const float* row, size_t n, uint8_t* dst);
  // dst[n] = range.step * scales[n] * sums[n] + range.low * column_sums[n] + bias[n]; the second
  // adds that to dst.
  void (*dequantize)(const DequantizeArgs& args, float* dst);
  void (*dequantize_add)(const DequantizeArgs& args, float* dst);

  // row[hidden] = layer_norm(row).
  void (*layer_norm)(const LayerNormArgs& args, float* row);

  size_t (*attention_scratch_floats)(int64_t seq, int64_t head_dim);
  void (*attention_head)(const AttentionHeadArgs& args);
};

// The kernels of the best instruction set that the CPU has and oneDNN may use: one cap,
// ONEDNN_MAX_CPU_ISA, governs both, so that one host can test every path. Thread-safe.
const Kernels& BestKernels();

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_KERNELS_KERNELS_H_
