#include "engine/ops/layer_norm.h"

#include "engine/base/check.h"
#include "engine/ops/kernels/kernels.h"

namespace attune {

void LayerNorm(const LayerNormParams& params, MatrixView rows) {
  const auto hidden = static_cast<size_t>(rows.cols);
  ATTUNE_CHECK(params.gamma.size() == hidden && params.beta.size() == hidden && hidden > 0);
  const internal::LayerNormArgs args = {.gamma = params.gamma.data(),
                                        .beta = params.beta.data(),
                                        .epsilon = params.epsilon,
                                        .hidden = hidden};
  const internal::Kernels& kernels = internal::BestKernels();
  for (int64_t i = 0; i < rows.rows; ++i) kernels.layer_norm(args, rows.row(i).data());
}

void LayerNorm(const LayerNormParams& params, MatrixView rows, LinearInputView dst) {
  for (int64_t i = 0; i < rows.rows; ++i) {
    LayerNorm(params, rows.Rows(i, i + 1));
    PackLinearInput(rows.Rows(i, i + 1), dst.Rows(i, i + 1));
  }
}

}  // namespace attune
