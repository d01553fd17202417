#include "server/precision_choice.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/ops/precision_probe.h"
#include "engine/quality/quality_gate.h"

namespace attune {
namespace {

absl::StatusOr<PrecisionChoice> TakeWanted(Precision wanted, PrecisionEvidence& evidence) {
  const std::string flag = absl::StrCat("--precision ", PrecisionName(wanted));
  if (wanted == Precision::kF32) return PrecisionChoice{wanted, flag, std::nullopt};
  const absl::Status supported = evidence.Supported(wanted);
  if (!supported.ok()) {
    return absl::UnimplementedError(absl::StrCat(flag, " cannot be used: ", supported.message(),
                                                 "; use --precision f32 or auto"));
  }
  ATTUNE_ASSIGN_OR_RETURN(const QualityFigures figures, evidence.Quality(wanted));
  const std::string gate = DescribeGate(wanted, figures);
  if (!PassesGate(wanted, figures)) {
    return absl::FailedPreconditionError(absl::StrCat(
        flag, " is refused, because this model loses too much by it: ", gate,
        "; use --precision f32 or auto, and see `attune-server quality` for every figure"));
  }
  return PrecisionChoice{wanted, absl::StrCat(flag, ", past the quality gate: ", gate), figures};
}

PrecisionChoice AutoF32(absl::string_view why) {
  return {Precision::kF32, absl::StrCat("auto: ", why), std::nullopt};
}

absl::StatusOr<PrecisionChoice> ChooseAutomatically(PrecisionEvidence& evidence) {
  const absl::Status supported = evidence.Supported(Precision::kBf16);
  if (!supported.ok()) return AutoF32(supported.message());
  const double speedup = evidence.Bf16Speedup();
  const std::string speed = absl::StrFormat("bf16 runs at %.2f times the speed of f32", speedup);
  if (!(speedup >= kMinBf16Speedup)) {
    return AutoF32(
        absl::StrFormat("%s here; it takes %.1f times to be chosen", speed, kMinBf16Speedup));
  }
  const absl::StatusOr<QualityFigures> figures = evidence.Quality(Precision::kBf16);
  if (absl::IsResourceExhausted(figures.status())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("--precision auto cannot be decided: ", figures.status().message(),
                     "; --precision f32 needs no comparison"));
  }
  if (!figures.ok()) {
    return AutoF32(absl::StrCat("bf16 could not be tried: ", figures.status().message()));
  }
  const std::string gate = DescribeGate(Precision::kBf16, *figures);
  if (!PassesGate(Precision::kBf16, *figures)) {
    return AutoF32(absl::StrCat(speed, ", but fails the quality gate: ", gate));
  }
  return PrecisionChoice{Precision::kBf16,
                         absl::StrCat("auto: ", speed, " and passes the quality gate: ", gate),
                         *figures};
}

}  // namespace

absl::StatusOr<PrecisionChoice> ChoosePrecision(std::optional<Precision> wanted,
                                                PrecisionEvidence& evidence) {
  return wanted.has_value() ? TakeWanted(*wanted, evidence) : ChooseAutomatically(evidence);
}

}  // namespace attune
