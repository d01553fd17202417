// The number formats a model can run in.
#ifndef ATTUNE_ENGINE_OPS_PRECISION_H_
#define ATTUNE_ENGINE_OPS_PRECISION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

// What the matrix products of the linear layers read. They accumulate, and everything between them
// computes, in f32 (int8: in s32, scaled to f32); but the products in attention read bf16 in both
// reduced precisions where that is faster.
enum class Precision {
  kF32,
  kBf16,  // weights and inputs rounded to bfloat16, to nearest even
  kInt8,  // weights s8 with a scale per output, inputs u8 with a range per token
};

// "f32", "bf16", "int8".
absl::string_view PrecisionName(Precision precision);
// kInvalidArgument for any other name.
absl::StatusOr<Precision> ParsePrecision(absl::string_view name);

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_PRECISION_H_
