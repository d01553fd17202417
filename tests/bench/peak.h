// What the arithmetic units of one core can do when nothing else is in the way.
#ifndef ATTUNE_TESTS_BENCH_PEAK_H_
#define ATTUNE_TESTS_BENCH_PEAK_H_

#include <optional>

#include "engine/ops/precision.h"

namespace attune::bench {

// Billions of operations per second, 2 per multiply-add, of a loop that only multiplies and adds in
// registers, on the calling thread: VFMADD231PS for f32 (256 bits wide without AVX-512), VDPBF16PS
// for bf16, VPDPBUSD for int8. The best of several repetitions; takes about 50 ms. nullopt if this
// CPU has no such instruction. Clocks move, so measure it in the run whose share is wanted.
std::optional<double> PeakGops(Precision precision);

}  // namespace attune::bench

#endif  // ATTUNE_TESTS_BENCH_PEAK_H_
