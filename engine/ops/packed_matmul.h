// Private to engine/ops: oneDNN's matrix product with prepacked weights and any number of rows.
#ifndef ATTUNE_ENGINE_OPS_PACKED_MATMUL_H_
#define ATTUNE_ENGINE_OPS_PACKED_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "engine/base/arena.h"
#include "engine/ops/dnnl_compat.h"
#include "engine/ops/op_context_impl.h"

namespace attune::internal {

// Element types of the three matrices.
struct MatmulTypes {
  dnnl::memory::data_type src;
  dnnl::memory::data_type weights;
  dnnl::memory::data_type dst;
};

// dst[rows, out] = src[rows, in] * weights[in, out] (+ bias[out]) (+ dst), all dense.
// Immutable and thread-safe. A row's bits depend on that row alone. Members throw dnnl::error.
class PackedMatmul {
 public:
  // `weights` are reordered, and converted, into types.weights in the layout that oneDNN prefers,
  // in a block of `arena`.
  // An empty bias is none. REQUIRES: bias and `adds` only with an f32 dst.
  PackedMatmul(const MatmulTypes& types, const dnnl::memory& weights, absl::Span<const float> bias,
               bool adds, Arena& arena);

  // Rows in memory are rounded up to 8, the pad rows read and overwritten.
  void Run(OpContext::Impl& context, int64_t rows, const void* src, void* dst) const;
  // dst += the product. REQUIRES: made with `adds`.
  void RunAdd(OpContext::Impl& context, int64_t rows, const void* src, void* dst) const;

  // oneDNN's name of the implementation.
  const std::string& kernel_name() const { return kernel_name_; }
  int64_t weight_bytes() const;

 private:
  // The matmul of exactly `rows` rows.
  struct FixedRows {
    int64_t rows = 0;
    dnnl::matmul primitive;
    dnnl::memory::desc src_desc;
    dnnl::memory::desc dst_desc;
    dnnl::memory::desc scratchpad_desc;
  };
  // Ascending rows: 8, 16, ..., or a single one.
  using RowCounts = std::vector<FixedRows>;

  dnnl::matmul::primitive_desc Describe(int64_t rows, const dnnl::memory::desc& weights_desc,
                                        bool add) const;
  FixedRows Make(int64_t rows, bool add);
  RowCounts MakeAll(bool add);
  void ForEachBlock(OpContext::Impl& context, const RowCounts& matmuls, int64_t rows,
                    const void* src, void* dst) const;
  void Execute(OpContext::Impl& context, const FixedRows& matmul, const void* src, void* dst) const;
  void ExecutePadded(OpContext::Impl& context, const FixedRows& matmul, int64_t rows,
                     const void* src, void* dst) const;

  const MatmulTypes types_;
  const int64_t in_;
  const int64_t out_;
  bool brgemm_ = false;
  std::string kernel_name_;
  std::shared_ptr<std::byte> weight_block_;
  dnnl::memory weights_;  // over weight_block_
  dnnl::memory bias_;
  RowCounts plain_;
  RowCounts adding_;
};

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_PACKED_MATMUL_H_
