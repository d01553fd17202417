// Private to engine/ops: the one place that knows which generation of oneDNN is installed. Versions
// 2.x (Debian 12) and 3.x (Debian 13) differ for us in one constructor and a few enumerators.
#ifndef ATTUNE_ENGINE_OPS_DNNL_COMPAT_H_
#define ATTUNE_ENGINE_OPS_DNNL_COMPAT_H_

#include "oneapi/dnnl/dnnl.hpp"

// Of libgomp, which Debian's oneDNN runs on. Declared here because clang's <omp.h> would bring
// a second OpenMP library into the process.
extern "C" void omp_set_num_threads(int threads);

namespace attune::internal {

// The process-wide CPU engine. Never destroyed: primitives may outlive static destruction.
inline const dnnl::engine& CpuEngine() {
  static const auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// oneDNN reads the calling thread's OpenMP team size when a primitive is created and when it runs.
inline void UseOneOpenMpThread() { omp_set_num_threads(1); }

// A null bias is none. Throws dnnl::error when no implementation accepts the shapes.
inline dnnl::matmul::primitive_desc MatmulDesc(const dnnl::memory::desc& src,
                                               const dnnl::memory::desc& weights,
                                               const dnnl::memory::desc* bias,
                                               const dnnl::memory::desc& dst,
                                               const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias == nullptr) return {CpuEngine(), src, weights, dst, attr};
  return {CpuEngine(), src, weights, *bias, dst, attr};
#else
  if (bias == nullptr) return {dnnl::matmul::desc(src, weights, dst), attr, CpuEngine()};
  return {dnnl::matmul::desc(src, weights, *bias, dst), attr, CpuEngine()};
#endif
}

// Whether the instruction set `isa` has everything that `part` has.
inline bool Includes(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  const auto bits = static_cast<unsigned>(part);
  return (static_cast<unsigned>(isa) & bits) == bits;
}

// The public name of an instruction set, as ONEDNN_MAX_CPU_ISA spells it, in lower case.
inline const char* IsaName(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
#if DNNL_VERSION_MAJOR >= 3
    case dnnl::cpu_isa::avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
#endif
    default:
      return "unknown";
  }
}

}  // namespace attune::internal

#endif  // ATTUNE_ENGINE_OPS_DNNL_COMPAT_H_
