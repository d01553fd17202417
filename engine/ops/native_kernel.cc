#include "engine/ops/native_kernel.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/ops/dnnl_compat.h"

namespace attune::internal {
namespace {

using Clock = std::chrono::steady_clock;

// One tile, all of it in the L1 cache: the arithmetic alone.
class Probe {
 public:
  Clock::duration Time(const GemmKernel& kernel, int64_t words) {
    GemmPanel args = {};
    args.src = src_.data();
    args.src_stride = kWords * 4;
    args.weights = weights_.data();
    args.bias = bias_.floats();
    args.dst = dst_.data();
    args.dst_stride = kPanelCols * 4;
    args.rows = kRows;
    args.words = words;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < 4; ++i) kernel.store(args);
    return Clock::now() - start;
  }

  static constexpr int64_t kRows = 8;
  static constexpr int64_t kWords = 128;

 private:
  AlignedBuffer src_{kRows * kWords * 4};
  AlignedBuffer weights_{kPanelCols * kWords * 4};
  AlignedBuffer bias_{kPanelCols * 4};
  AlignedBuffer dst_{kRows * kPanelCols * 4};
};

// Whether VDPBF16PS beats two multiply-adds in f32. On AMD's Zen 4 it is twice as fast, on Intel's
// CPUs half as fast; with such a distance the least of some short runs always falls on the same
// side.
bool MeasureBf16DotIsFaster() {
  Probe probe;
  Clock::duration dot = Clock::duration::max();
  Clock::duration widened = Clock::duration::max();
  for (int i = 0; i < 16; ++i) {
    dot = std::min(dot, probe.Time(kGemmBf16, Probe::kWords / 2));
    widened = std::min(widened, probe.Time(kGemmWidenedBf16, Probe::kWords));
  }
  return dot < widened;
}

bool Bf16DotIsFaster() {
  static const bool faster = MeasureBf16DotIsFaster();
  return faster;
}

}  // namespace

const GemmKernel& GemmOf(NativeKernel kernel) {
  switch (kernel) {
    case NativeKernel::kF32:
      return kGemmF32;
    case NativeKernel::kBf16:
      return kGemmBf16;
    case NativeKernel::kWidenedBf16:
      return kGemmWidenedBf16;
    case NativeKernel::kInt8:
      return kGemmU8;
  }
  ATTUNE_CHECK(false);
  return kGemmF32;
}

Precision PrecisionOf(NativeKernel kernel) {
  switch (kernel) {
    case NativeKernel::kF32:
      return Precision::kF32;
    case NativeKernel::kBf16:
    case NativeKernel::kWidenedBf16:
      return Precision::kBf16;
    case NativeKernel::kInt8:
      return Precision::kInt8;
  }
  ATTUNE_CHECK(false);
  return Precision::kF32;
}

absl::Status CheckAvailable(NativeKernel kernel) {
  dnnl::cpu_isa needed = dnnl::cpu_isa::avx512_core;
  if (kernel == NativeKernel::kBf16) needed = dnnl::cpu_isa::avx512_core_bf16;
  if (kernel == NativeKernel::kInt8) needed = dnnl::cpu_isa::avx512_core_vnni;
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  if (Includes(isa, needed)) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the ", PrecisionName(PrecisionOf(kernel)), " kernel ", GemmOf(kernel).name,
                   " needs ", IsaName(needed), "; this CPU, as capped, has ", IsaName(isa)));
}

bool PrefersBf16Products() { return CheckAvailable(NativeKernel::kBf16).ok() && Bf16DotIsFaster(); }

absl::StatusOr<NativeKernel> BestNativeKernel(Precision precision) {
  NativeKernel best = NativeKernel::kF32;
  if (precision == Precision::kInt8) best = NativeKernel::kInt8;
  if (precision == Precision::kBf16) {
    best = PrefersBf16Products() ? NativeKernel::kBf16 : NativeKernel::kWidenedBf16;
  }
  ATTUNE_RETURN_IF_ERROR(CheckAvailable(best));
  return best;
}

}  // namespace attune::internal
