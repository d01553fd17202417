#include "engine/ops/linear.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/ops/kernels/gemm.h"
#include "engine/ops/linear_backend.h"

namespace attune {
namespace {

using internal::LinearBackend;

absl::StatusOr<std::unique_ptr<const LinearBackend>> MakeBackend(ConstMatrixView weights,
                                                                 absl::Span<const float> bias,
                                                                 const LinearOptions& options) {
  Arena own(0);
  Arena& arena = options.arena == nullptr ? own : *options.arena;
  if (options.kernels == LinearKernels::kOneDnn) {
    return internal::MakeOneDnnLinear(options.precision, weights, bias, arena);
  }
  // oneDNN has kernels for AMX, several times as fast as what AVX-512 can do; we have none.
  const bool amx = absl::StrContains(EffectiveIsa(), "amx");
  if (options.kernels == LinearKernels::kAuto && amx && options.precision != Precision::kF32) {
    return internal::MakeOneDnnLinear(options.precision, weights, bias, arena);
  }
  auto native = internal::MakeNativeLinear(options.precision, weights, bias, arena);
  if (options.kernels == LinearKernels::kNative || !absl::IsUnimplemented(native.status())) {
    return native;
  }
  return internal::MakeOneDnnLinear(options.precision, weights, bias, arena);
}

}  // namespace

absl::StatusOr<LinearKernels> ParseLinearKernels(absl::string_view name) {
  if (name == "auto") return LinearKernels::kAuto;
  if (name == "onednn") return LinearKernels::kOneDnn;
  if (name == "native") return LinearKernels::kNative;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown kernels '", name, "'; known: auto, onednn, native"));
}

int64_t Linear::PackedBytes(int64_t out, int64_t in, Precision precision) {
  const auto padded = [](int64_t size, int64_t block) {
    return (size + block - 1) / block * block;
  };
  // Layouts pad outputs to whole panels: ours, or oneDNN's of 64.
  return std::max(padded(out, internal::kPanelCols), padded(out, 64)) * padded(in, 64) *
         ElementBytes(precision);
}

absl::StatusOr<std::unique_ptr<const Linear>> Linear::Create(ConstMatrixView weights,
                                                             absl::Span<const float> bias,
                                                             const LinearOptions& options) {
  if (weights.rows < 1 || weights.cols < 1) {
    return absl::InvalidArgumentError(absl::StrCat("linear layer of shape [", weights.rows, ", ",
                                                   weights.cols, "]; both must be at least 1"));
  }
  if (static_cast<int64_t>(bias.size()) != weights.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("linear layer has ", weights.rows, " outputs but a bias of ", bias.size()));
  }
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<const LinearBackend> backend,
                          MakeBackend(weights, bias, options));
  return std::unique_ptr<const Linear>(
      new Linear(weights.cols, weights.rows, options.precision, std::move(backend)));
}

Linear::Linear(int64_t in, int64_t out, Precision precision,
               std::unique_ptr<const LinearBackend> backend)
    : in_(in), out_(out), precision_(precision), backend_(std::move(backend)) {}
Linear::~Linear() = default;

void Linear::CheckSource(LinearInputView src, int64_t dst_rows, int64_t dst_cols) const {
  ATTUNE_CHECK(src.precision == precision_ && src.cols == in_ && src.rows == dst_rows);
  ATTUNE_CHECK(dst_cols == out_);
}

absl::Status Linear::Run(OpContext& context, LinearInputView src, MatrixView dst) const {
  CheckSource(src, dst.rows, dst.cols);
  ATTUNE_CHECK(dst.stride == dst.cols);
  return backend_->Run(context, src, dst);
}

absl::Status Linear::RunAdd(OpContext& context, LinearInputView src, MatrixView dst) const {
  CheckSource(src, dst.rows, dst.cols);
  ATTUNE_CHECK(dst.stride == dst.cols);
  return backend_->RunAdd(context, src, dst);
}

absl::Status Linear::RunActivation(OpContext& context, LinearInputView src, Activation activation,
                                   LinearInputView dst) const {
  CheckSource(src, dst.rows, dst.cols);
  ATTUNE_CHECK(dst.precision == precision_);
  return backend_->RunActivation(context, src, activation, dst);
}

std::string Linear::kernel_name() const { return backend_->kernel_name(); }
int64_t Linear::weight_bytes() const { return backend_->weight_bytes(); }

}  // namespace attune
