#include "engine/ops/activation.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/ops/kernels/kernels.h"

namespace attune {

absl::StatusOr<Activation> ParseActivation(absl::string_view hidden_act) {
  if (hidden_act == "gelu") return Activation::kGelu;
  if (hidden_act == "gelu_new" || hidden_act == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (hidden_act == "relu") return Activation::kRelu;
  if (hidden_act == "silu" || hidden_act == "swish") return Activation::kSilu;
  return absl::UnimplementedError(absl::StrCat(
      "activation \"", hidden_act,
      "\" is not built; known are gelu, gelu_new, gelu_pytorch_tanh, relu, silu and swish"));
}

void ApplyActivation(Activation activation, absl::Span<float> values) {
  const internal::Kernels& kernels = internal::BestKernels();
  switch (activation) {
    case Activation::kGelu:
      return kernels.gelu(values.data(), values.size());
    case Activation::kGeluTanh:
      return kernels.gelu_tanh(values.data(), values.size());
    case Activation::kRelu:
      return kernels.relu(values.data(), values.size());
    case Activation::kSilu:
      return kernels.silu(values.data(), values.size());
  }
}

}  // namespace attune
