// What this CPU makes of a precision: whether it has the instructions, and whether they pay.
#ifndef ATTUNE_ENGINE_OPS_PRECISION_PROBE_H_
#define ATTUNE_ENGINE_OPS_PRECISION_PROBE_H_

#include "absl/status/status.h"
#include "engine/ops/precision.h"

namespace attune {

// kUnimplemented, naming the instruction set that is missing and the one in effect, unless the CPU
// computes in `precision` natively: bf16 needs AVX512_BF16, int8 AVX512_VNNI, f32 nothing.
// Emulated, bf16 is slower than f32, and int8 products saturate at 16 bits. A cap that the operator
// set (ONEDNN_MAX_CPU_ISA) counts as the CPU's own.
absl::Status CheckPrecisionSupported(Precision precision);

// How many times as fast as an f32 matrix product the same product in bf16 is, timed here and now
// on one thread. It depends on the CPU: the instruction has twice the rate of f32's on some, half
// on others. 0 where CheckPrecisionSupported(kBf16) fails. Takes some tens of
// milliseconds.
double Bf16Speedup();

// Below this, bf16 is not worth its rounding: what the CPUs differ by (0.5 or 2) is far from it.
inline constexpr double kMinBf16Speedup = 1.2;

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_PRECISION_PROBE_H_
