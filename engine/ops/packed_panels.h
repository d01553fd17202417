// Private to engine/ops: the weights of a linear layer as the kernels of kernels/gemm.h read them.
#ifndef ATTUNE_ENGINE_OPS_PACKED_PANELS_H_
#define ATTUNE_ENGINE_OPS_PACKED_PANELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/arena.h"
#include "engine/ops/kernels/gemm.h"
#include "engine/ops/precision.h"
#include "engine/tensor/matrix.h"

namespace attune::internal {

// Weights and what goes with them, outputs padded with zeros to whole panels and inputs to whole
// words. Immutable and thread-safe; move-only.
class PackedPanels {
 public:
  // weights [out, in], rounded as `precision` asks; bias [out]. REQUIRES: out >= 1, in >= 1 and,
  // for kInt8, what QuantizeWeights requires.
  PackedPanels(Precision precision, ConstMatrixView weights, absl::Span<const float> bias,
               Arena& arena);

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  int64_t words() const { return words_; }  // of a row of inputs
  int64_t panels() const { return panels_; }
  // Sets all that concerns the weights in `args` to panel `index`.
  void Describe(int64_t index, GemmPanel& args) const;

  int64_t bytes() const;

 private:
  void PackValues(Precision precision, ConstMatrixView weights);
  void PackInt8(ConstMatrixView weights);

  int64_t in_;
  int64_t out_;
  int64_t words_;
  int64_t panels_;
  size_t weight_bytes_;
  std::shared_ptr<std::byte> weights_;  // [panels][words][kPanelCols] words, in the arena
  AlignedBuffer bias_;                  // [panels][kPanelCols]
  AlignedBuffer scales_;                // the same, only for kInt8
  AlignedBuffer column_sums_;           // the same, only for kInt8
};

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_PACKED_PANELS_H_
