// Private to engine/ops: a linear layer on a kernel given by name, so that tests and benchmarks
// reach those that are not the best of their host.
#ifndef ATTUNE_ENGINE_OPS_NATIVE_LINEAR_H_
#define ATTUNE_ENGINE_OPS_NATIVE_LINEAR_H_

#include <memory>

#include "absl/types/span.h"
#include "engine/base/arena.h"
#include "engine/ops/linear_backend.h"
#include "engine/ops/native_kernel.h"
#include "engine/tensor/matrix.h"

namespace attune::internal {

// As MakeNativeLinear in linear_backend.h, which takes the best kernel. REQUIRES: it is available.
std::unique_ptr<const LinearBackend> MakeNativeLinear(NativeKernel kernel, ConstMatrixView weights,
                                                      absl::Span<const float> bias, Arena& arena);

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_NATIVE_LINEAR_H_
