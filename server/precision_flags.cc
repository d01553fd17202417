#include "server/precision_flags.h"

#include "absl/strings/str_cat.h"

namespace attune {

absl::StatusOr<std::optional<Precision>> ParsePrecisionFlag(absl::string_view value) {
  if (value == "auto") return std::nullopt;
  const absl::StatusOr<Precision> precision = ParsePrecision(value);
  if (precision.ok()) return *precision;
  return absl::InvalidArgumentError(
      absl::StrCat("--precision is \"", value, "\"; it must be f32, bf16, int8 or auto"));
}

absl::StatusOr<LinearKernels> ParseKernelsFlag(absl::string_view value) {
  const absl::StatusOr<LinearKernels> kernels = ParseLinearKernels(value);
  if (kernels.ok()) return *kernels;
  return absl::InvalidArgumentError(
      absl::StrCat("--kernels is \"", value, "\"; it must be auto, onednn or native"));
}

}  // namespace attune
