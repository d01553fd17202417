// Private to engine/ops: what computes a linear layer behind the Linear that everyone sees.
#ifndef ATTUNE_ENGINE_OPS_LINEAR_BACKEND_H_
#define ATTUNE_ENGINE_OPS_LINEAR_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/base/arena.h"
#include "engine/ops/activation.h"
#include "engine/ops/linear_input.h"
#include "engine/ops/op_context.h"
#include "engine/ops/precision.h"
#include "engine/tensor/matrix.h"

namespace attune::internal {

// Packed weights [out, in] and bias of one layer in one precision. Immutable and thread-safe. Row i
// of a result depends only on row i of src, bit for bit: not on how many rows there are. Shapes are
// checked by the caller; src and dst are dense and hold Linear::PaddedRows rows of memory (the pad
// rows are read and, in dst, overwritten with anything). kInternal if a library fails.
class LinearBackend {
 public:
  virtual ~LinearBackend() = default;

  // dst = src W^T + b.
  virtual absl::Status Run(OpContext& context, LinearInputView src, MatrixView dst) const = 0;
  // dst += src W^T + b.
  virtual absl::Status RunAdd(OpContext& context, LinearInputView src, MatrixView dst) const = 0;
  // dst = activation(src W^T + b), rounded as PackLinearInput rounds. dst.precision is the
  // backend's own.
  virtual absl::Status RunActivation(OpContext& context, LinearInputView src, Activation activation,
                                     LinearInputView dst) const = 0;

  // What runs, for the model's information and for tests: "brg:avx512_core", "native:avx512".
  virtual std::string kernel_name() const = 0;
  // Memory of the packed weights, bias and scales.
  virtual int64_t weight_bytes() const = 0;
};

// weights [out, in] row-major f32, bias [out]; both are copied, the packed weights into a block of
// `arena`. kInternal if oneDNN refuses;
// kUnimplemented if the precision is not to be had on this CPU.
absl::StatusOr<std::unique_ptr<const LinearBackend>> MakeOneDnnLinear(Precision precision,
                                                                      ConstMatrixView weights,
                                                                      absl::Span<const float> bias,
                                                                      Arena& arena);
absl::StatusOr<std::unique_ptr<const LinearBackend>> MakeNativeLinear(Precision precision,
                                                                      ConstMatrixView weights,
                                                                      absl::Span<const float> bias,
                                                                      Arena& arena);

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_LINEAR_BACKEND_H_
