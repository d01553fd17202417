#include "tests/bench/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace attune::bench {
namespace {

constexpr int64_t kIterations = 1'000'000;
constexpr int kRepetitions = 10;
// Independent chains of dependent instructions: a latency of 4 cycles on 2 units keeps 8 of them
// busy, and 6 cycles 12.
constexpr int kChains = 12;

// Runs `instruction` on registers `width` 0 to 11, each its own sum, kIterations times; register 12
// is both factors. All zero, because denormals would be slow. Assembler, and the whole loop in it,
// so that no compiler, at no level of optimisation, moves a sum to the stack.
#define ATTUNE_BENCH_LOOP(instruction, width)                                                      \
  do {                                                                                             \
    int64_t iterations = kIterations;                                                              \
    asm volatile(                                                                                  \
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12\n"                                                    \
        "vxorps %%xmm\\n, %%xmm\\n, %%xmm\\n\n"                                                    \
        ".endr\n"                                                                                  \
        "1:\n"                                                                                     \
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11\n" instruction " %%" width "12, %%" width "12, %%" width \
        "\\n\n"                                                                                    \
        ".endr\n"                                                                                  \
        "dec %0\n"                                                                                 \
        "jnz 1b\n"                                                                                 \
        "vzeroupper\n"                                                                             \
        : "+r"(iterations)                                                                         \
        :                                                                                          \
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",    \
          "xmm10", "xmm11", "xmm12");                                                              \
  } while (false)

void Fma256() { ATTUNE_BENCH_LOOP("vfmadd231ps", "ymm"); }
void Fma512() { ATTUNE_BENCH_LOOP("vfmadd231ps", "zmm"); }
void Bf16Dot512() { ATTUNE_BENCH_LOOP("vdpbf16ps", "zmm"); }
void Int8Dot512() { ATTUNE_BENCH_LOOP("vpdpbusd", "zmm"); }

#undef ATTUNE_BENCH_LOOP

double BestGops(void (*loop)(), int64_t multiply_adds_per_instruction) {
  using Clock = std::chrono::steady_clock;
  const auto operations =
      static_cast<double>(2 * multiply_adds_per_instruction * kChains * kIterations);
  double best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const Clock::time_point begin = Clock::now();
    loop();
    const double nanoseconds =
        std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    best = std::max(best, operations / nanoseconds);
  }
  return best;
}

}  // namespace

std::optional<double> PeakGops(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      if (__builtin_cpu_supports("avx512f")) return BestGops(Fma512, 16);
      if (__builtin_cpu_supports("fma")) return BestGops(Fma256, 8);
      return std::nullopt;
    case Precision::kBf16:
      if (__builtin_cpu_supports("avx512bf16")) return BestGops(Bf16Dot512, 32);
      return std::nullopt;
    case Precision::kInt8:
      if (__builtin_cpu_supports("avx512vnni")) return BestGops(Int8Dot512, 64);
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace attune::bench
