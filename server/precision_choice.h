// Which precision a server runs in, and why.
#ifndef ATTUNE_SERVER_PRECISION_CHOICE_H_
#define ATTUNE_SERVER_PRECISION_CHOICE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ops/precision.h"
#include "engine/quality/compare_vectors.h"

namespace attune {

// What a choice rests on. Asked in this order, and only for what the choice needs: each answer
// takes longer than the one before.
class PrecisionEvidence {
 public:
  virtual ~PrecisionEvidence() = default;

  // Whether this CPU computes in `precision`; if not, the message says what it lacks.
  virtual absl::Status Supported(Precision precision) = 0;
  // How many times as fast as f32 bf16 is here.
  virtual double Bf16Speedup() = 0;
  // How far the model's vectors in `precision` are from f32's.
  virtual absl::StatusOr<QualityFigures> Quality(Precision precision) = 0;
};

struct PrecisionChoice {
  Precision precision = Precision::kF32;
  // For people: the flag, or what the automatic choice found, with figures.
  std::string reason;
  // Of `precision`; nothing for f32.
  std::optional<QualityFigures> quality;
};

// `wanted`, or for nothing (auto) bf16 where it is supported, faster than f32 and past the quality
// gate, else f32. A wanted bf16 or int8 that is not supported is kUnimplemented, one that fails the
// gate kFailedPrecondition with figures and limits: never another precision than the one asked for.
// kResourceExhausted if there was no memory to find out, also for auto: what happens to be short
// must not decide which vectors a model has.
absl::StatusOr<PrecisionChoice> ChoosePrecision(std::optional<Precision> wanted,
                                                PrecisionEvidence& evidence);

}  // namespace attune

#endif  // ATTUNE_SERVER_PRECISION_CHOICE_H_
