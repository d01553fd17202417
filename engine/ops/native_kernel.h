// Private to engine/ops: which of our own matrix kernels run on this CPU, and which is best.
#ifndef ATTUNE_ENGINE_OPS_NATIVE_KERNEL_H_
#define ATTUNE_ENGINE_OPS_NATIVE_KERNEL_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ops/kernels/gemm.h"
#include "engine/ops/precision.h"

namespace attune::internal {

enum class NativeKernel {
  kF32,
  kBf16,         // VDPBF16PS
  kWidenedBf16,  // bf16 in memory, f32 arithmetic
  kInt8,         // VPDPBUSD
};

const GemmKernel& GemmOf(NativeKernel kernel);
Precision PrecisionOf(NativeKernel kernel);

// kUnimplemented, naming what is missing, unless the CPU has the instructions and the cap on the
// instruction set allows them.
absl::Status CheckAvailable(NativeKernel kernel);

// Whether products of bf16 are available, and faster than those of the same values in f32. The same
// throughout a process; the first call takes some hundred microseconds. Thread-safe.
bool PrefersBf16Products();

// The fastest kernel for `precision` that is available, else kUnimplemented. The same throughout a
// process. For kBf16 as PrefersBf16Products. Thread-safe.
absl::StatusOr<NativeKernel> BestNativeKernel(Precision precision);

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_NATIVE_KERNEL_H_
