// --precision and --kernels as an operator writes them.
#ifndef ATTUNE_SERVER_PRECISION_FLAGS_H_
#define ATTUNE_SERVER_PRECISION_FLAGS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/engine.h"

namespace attune {

// "f32", "bf16", "int8"; nothing for "auto". kInvalidArgument, naming the flag, for anything else.
absl::StatusOr<std::optional<Precision>> ParsePrecisionFlag(absl::string_view value);

// "auto", "onednn", "native". kInvalidArgument, naming the flag, for anything else.
absl::StatusOr<LinearKernels> ParseKernelsFlag(absl::string_view value);

}  // namespace attune

#endif  // ATTUNE_SERVER_PRECISION_FLAGS_H_
