// Whether a reduced precision is close enough to f32 to be served.
#ifndef ATTUNE_ENGINE_QUALITY_QUALITY_GATE_H_
#define ATTUNE_ENGINE_QUALITY_QUALITY_GATE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/engine.h"
#include "engine/ops/precision.h"
#include "engine/quality/compare_vectors.h"

namespace attune {

// What the vectors must keep of f32's, over the built-in texts. The mean speaks for the model as a
// whole, the minimum for the text that fares worst.
struct QualityLimits {
  double mean_cosine = 0;
  double min_cosine = 0;
};

// bf16 has 8 bits of mantissa: a value is rounded by up to 1 part in 512, in both factors of a
// product, and the errors of a sum mostly cancel.
inline constexpr QualityLimits kBf16Limits = {.mean_cosine = 0.99995, .min_cosine = 0.9999};
// int8 has 255 steps for a whole row: coarse for all the other values of a row with an outlier.
inline constexpr QualityLimits kInt8Limits = {.mean_cosine = 0.997, .min_cosine = 0.99};

// REQUIRES: precision is not kF32, which is what the others are measured against.
QualityLimits LimitsOf(Precision precision);

// Both cosines are at least the limits; a NaN is not.
bool PassesGate(Precision precision, const QualityFigures& figures);

// "mean cosine 0.99999 (at least 0.99995), min cosine 0.9999 (at least 0.9999), over 283 texts".
std::string DescribeGate(Precision precision, const QualityFigures& figures);

// Encodes `texts` (at least two) with both engines, which are of one model, on `threads` threads,
// and compares. Errors as EncodeTexts.
absl::StatusOr<QualityFigures> MeasureQuality(const std::shared_ptr<const Engine>& reference,
                                              const std::shared_ptr<const Engine>& candidate,
                                              absl::Span<const std::string> texts, int threads);

}  // namespace attune

#endif  // ATTUNE_ENGINE_QUALITY_QUALITY_GATE_H_
