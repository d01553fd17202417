// The linear layer y = x W^T + b on prepacked weights.
#ifndef ATTUNE_ENGINE_OPS_LINEAR_H_
#define ATTUNE_ENGINE_OPS_LINEAR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/arena.h"
#include "engine/ops/activation.h"
#include "engine/ops/linear_input.h"
#include "engine/ops/op_context.h"
#include "engine/ops/precision.h"
#include "engine/tensor/matrix.h"

namespace attune {

namespace internal {
class LinearBackend;
}  // namespace internal

// Whose matrix kernels run.
enum class LinearKernels {
  kAuto,    // attune's own where they exist for this CPU and precision, else oneDNN's
  kOneDnn,  // oneDNN's matmul, with passes of our own around it
  kNative,  // attune's own or an error
};

// "auto", "onednn", "native"; kInvalidArgument for any other name.
absl::StatusOr<LinearKernels> ParseLinearKernels(absl::string_view name);

struct LinearOptions {
  Precision precision = Precision::kF32;
  LinearKernels kernels = LinearKernels::kAuto;
  // Borrowed for the call: where packed weights go. Null: each layer's into memory of its own.
  Arena* arena = nullptr;
};

// Immutable and thread-safe: weights are packed once and shared by all threads, each of which
// brings its own OpContext.
//
// Rows are computed in groups of kRowGroup: the memory behind src and dst must hold
// PaddedRows(rows) rows, dense. The pad rows are read (any values) and overwritten (ignore them).
// Row i of a result depends only on row i of the source, bit for bit: not on `rows` and not on the
// other rows. kInternal if oneDNN fails.
class Linear {
 public:
  static constexpr int64_t kRowGroup = 8;
  static constexpr int64_t PaddedRows(int64_t rows) {
    return (rows + kRowGroup - 1) / kRowGroup * kRowGroup;
  }

  // weights [out, in] row-major f32, bias [out]. Both are copied, rounded as the precision asks.
  // kInvalidArgument if the shapes disagree, kUnimplemented if this CPU has no such kernels,
  // kInternal if oneDNN refuses.
  static absl::StatusOr<std::unique_ptr<const Linear>> Create(ConstMatrixView weights,
                                                              absl::Span<const float> bias,
                                                              const LinearOptions& options);
  ~Linear();

  // What the packed weights of such a layer take, or a little more: for sizing an arena.
  static int64_t PackedBytes(int64_t out, int64_t in, Precision precision);

  // dst[rows, out] = src[rows, in] * transpose(weights[out, in]) + bias[out].
  absl::Status Run(OpContext& context, LinearInputView src, MatrixView dst) const;
  // dst += the same.
  absl::Status RunAdd(OpContext& context, LinearInputView src, MatrixView dst) const;
  // dst = activation(the same), in the form the next layer of this precision reads.
  absl::Status RunActivation(OpContext& context, LinearInputView src, Activation activation,
                             LinearInputView dst) const;

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  Precision precision() const { return precision_; }
  // What computes, e.g. "brg:avx512_core" of oneDNN.
  std::string kernel_name() const;
  // Memory of the packed weights and bias.
  int64_t weight_bytes() const;

 private:
  Linear(int64_t in, int64_t out, Precision precision,
         std::unique_ptr<const internal::LinearBackend> backend);
  void CheckSource(LinearInputView src, int64_t dst_rows, int64_t dst_cols) const;

  const int64_t in_;
  const int64_t out_;
  const Precision precision_;
  const std::unique_ptr<const internal::LinearBackend> backend_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_LINEAR_H_
