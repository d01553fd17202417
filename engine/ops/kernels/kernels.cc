#include "engine/ops/kernels/kernels.h"

#include "engine/ops/dnnl_compat.h"

// Three targets are enough: AVX-512, AVX2, and a portable one for everything older.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_EMU128 | HWY_SCALAR))
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/ops/kernels/kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h, which compiles this file once per target.
#include "engine/ops/kernels/activation-inl.h"
#include "engine/ops/kernels/attention-inl.h"
#include "engine/ops/kernels/convert-inl.h"
#include "engine/ops/kernels/layer_norm-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

Kernels MakeKernels() {
  return {.target = hwy::TargetName(HWY_TARGET),
          .gelu = Gelu,
          .gelu_tanh = GeluTanh,
          .relu = Relu,
          .silu = Silu,
          .pack_bf16 = PackBf16,
          .pack_u8 = PackU8,
          .dequantize = Dequantize,
          .dequantize_add = DequantizeAdd,
          .layer_norm = LayerNorm,
          .attention_scratch_floats = AttentionScratchFloats,
          .attention_head = AttentionHead};
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attune::internal {
namespace {

HWY_EXPORT(MakeKernels);

Kernels SelectKernels() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  int64_t disabled = 0;
  if (!Includes(isa, dnnl::cpu_isa::avx512_core)) disabled |= HWY_AVX3;
  if (!Includes(isa, dnnl::cpu_isa::avx2)) disabled |= HWY_AVX2;
  hwy::DisableTargets(disabled);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return HWY_DYNAMIC_DISPATCH(MakeKernels)();
}

}  // namespace

const Kernels& BestKernels() {
  static const Kernels kernels = SelectKernels();
  return kernels;
}

}  // namespace attune::internal
#endif  // HWY_ONCE
