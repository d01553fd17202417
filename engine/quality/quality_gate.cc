#include "engine/quality/quality_gate.h"

#include "absl/strings/str_format.h"
#include "engine/base/check.h"
#include "engine/base/status_macros.h"
#include "engine/quality/encode_texts.h"

namespace attune {

QualityLimits LimitsOf(Precision precision) {
  ATTUNE_CHECK(precision != Precision::kF32);
  return precision == Precision::kBf16 ? kBf16Limits : kInt8Limits;
}

bool PassesGate(Precision precision, const QualityFigures& figures) {
  const QualityLimits limits = LimitsOf(precision);
  return figures.mean_cosine >= limits.mean_cosine && figures.min_cosine >= limits.min_cosine;
}

std::string DescribeGate(Precision precision, const QualityFigures& figures) {
  const QualityLimits limits = LimitsOf(precision);
  // Seven digits: what f32 vectors themselves are good for.
  return absl::StrFormat(
      "mean cosine %.7f (at least %g), min cosine %.7f (at least %g), over %d texts",
      figures.mean_cosine, limits.mean_cosine, figures.min_cosine, limits.min_cosine,
      figures.texts);
}

absl::StatusOr<QualityFigures> MeasureQuality(const std::shared_ptr<const Engine>& reference,
                                              const std::shared_ptr<const Engine>& candidate,
                                              absl::Span<const std::string> texts, int threads) {
  EncodeTextsOptions options;
  options.threads = threads;
  ATTUNE_ASSIGN_OR_RETURN(const Matrix expected, EncodeTexts(reference, texts, options));
  ATTUNE_ASSIGN_OR_RETURN(const Matrix found, EncodeTexts(candidate, texts, options));
  return CompareVectors(expected.view(), found.view());
}

}  // namespace attune
