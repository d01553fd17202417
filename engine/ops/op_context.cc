#include "engine/ops/op_context.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/ops/dnnl_compat.h"
#include "engine/ops/op_context_impl.h"

namespace attune {
namespace {

dnnl::stream MakeStream() {
  try {
    return dnnl::stream(internal::CpuEngine());
  } catch (const dnnl::error&) {
    ATTUNE_CHECK(false && "oneDNN has no CPU engine");
  }
  return {};
}

}  // namespace

OpContext::OpContext() : impl_(std::make_unique<Impl>()) {
  internal::UseOneOpenMpThread();
  impl_->stream = MakeStream();
}

OpContext::~OpContext() = default;

std::string EffectiveIsa() { return internal::IsaName(dnnl::get_effective_cpu_isa()); }

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return absl::StrCat(version->major, ".", version->minor, ".", version->patch);
}

}  // namespace attune
