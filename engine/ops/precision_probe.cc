#include "engine/ops/precision_probe.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/ops/dnnl_compat.h"
#include "engine/ops/op_context.h"

namespace attune {
namespace {

using dnnl::memory;

absl::Status CheckIsa(Precision precision, dnnl::cpu_isa needed, absl::string_view instructions) {
  if (internal::Includes(dnnl::get_effective_cpu_isa(), needed)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(PrecisionName(precision), " needs ", instructions,
                                               ", which this CPU does not have (it runs ",
                                               EffectiveIsa(), ")"));
}

// The product that a small model's feed-forward layer makes of a batch.
constexpr memory::dim kRows = 128;
constexpr memory::dim kIn = 384;
constexpr memory::dim kOut = 1536;

memory ZeroedMemory(const memory::desc& desc) {
  memory zeroed(desc, internal::CpuEngine());
  std::memset(zeroed.get_data_handle(), 0, desc.get_size());
  return zeroed;
}

// That product with inputs of one type, f32 out.
class ProbeMatmul {
 public:
  explicit ProbeMatmul(memory::data_type type)
      : stream_(internal::CpuEngine()), desc_(Describe(type)), primitive_(desc_) {
    arguments_ = {{DNNL_ARG_SRC, ZeroedMemory(desc_.src_desc())},
                  {DNNL_ARG_WEIGHTS, ZeroedMemory(desc_.weights_desc())},
                  {DNNL_ARG_DST, ZeroedMemory(desc_.dst_desc())}};
  }

  absl::Duration Time() {
    constexpr int kRepeats = 2;
    const absl::Time start = SteadyNow();
    for (int i = 0; i < kRepeats; ++i) primitive_.execute(stream_, arguments_);
    stream_.wait();
    return SteadyNow() - start;
  }

 private:
  static dnnl::matmul::primitive_desc Describe(memory::data_type type) {
    constexpr auto kPlain = memory::format_tag::ab;
    return internal::MatmulDesc({{kRows, kIn}, type, kPlain},
                                {{kIn, kOut}, type, memory::format_tag::any}, /*bias=*/nullptr,
                                {{kRows, kOut}, memory::data_type::f32, kPlain}, {});
  }

  dnnl::stream stream_;
  dnnl::matmul::primitive_desc desc_;
  dnnl::matmul primitive_;
  std::unordered_map<int, memory> arguments_;
};

}  // namespace

absl::Status CheckPrecisionSupported(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return absl::OkStatus();
    case Precision::kBf16:
      return CheckIsa(precision, dnnl::cpu_isa::avx512_core_bf16, "AVX512_BF16");
    case Precision::kInt8:
      return CheckIsa(precision, dnnl::cpu_isa::avx512_core_vnni, "AVX512_VNNI");
  }
  return absl::InternalError("unknown precision");
}

double Bf16Speedup() {
  if (!CheckPrecisionSupported(Precision::kBf16).ok()) return 0;
  internal::UseOneOpenMpThread();
  try {
    ProbeMatmul f32(memory::data_type::f32);
    ProbeMatmul bf16(memory::data_type::bf16);
    // The best of several, taken in turn, so that neither is timed while something else ran.
    constexpr int kRounds = 8;
    absl::Duration best_f32 = absl::InfiniteDuration();
    absl::Duration best_bf16 = absl::InfiniteDuration();
    for (int round = 0; round < kRounds; ++round) {
      best_f32 = std::min(best_f32, f32.Time());
      best_bf16 = std::min(best_bf16, bf16.Time());
    }
    return absl::FDivDuration(best_f32, best_bf16);
  } catch (const dnnl::error& error) {
    Log(LogLevel::kWarning, "bf16_probe_failed", "oneDNN has no bf16 matrix product here",
        {{"reason", error.what()}});
    return 0;
  }
}

}  // namespace attune
