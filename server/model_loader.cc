#include "server/model_loader.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "engine/ops/precision_probe.h"
#include "engine/quality/quality_cache.h"
#include "engine/quality/quality_gate.h"
#include "engine/quality/quality_texts.h"
#include "server/precision_flags.h"

namespace attune {
namespace {

void LogFigures(Precision precision, const QualityFigures& figures, absl::Time start,
                bool from_cache) {
  Log(LogLevel::kInfo, "quality_known", "how far the vectors are from f32's",
      {{"precision", PrecisionName(precision)},
       {"passes", PassesGate(precision, figures)},
       {"texts", figures.texts},
       {"mean_cosine", figures.mean_cosine},
       {"min_cosine", figures.min_cosine},
       {"mean_overlap", figures.mean_overlap},
       {"from_cache", from_cache},
       {"seconds", absl::ToDoubleSeconds(SteadyNow() - start)}});
}

// This CPU, and the model itself. Keeps the engines it loads, so that the one that was measured is
// the one that serves.
class ModelEvidence final : public PrecisionEvidence {
 public:
  ModelEvidence(const ServerOptions& options, LinearKernels kernels)
      : options_(options),
        kernels_(kernels),
        cache_(options.quality_cache == "off" ? std::string() : options.quality_cache) {}

  absl::Status Supported(Precision precision) override {
    return CheckPrecisionSupported(precision);
  }
  // Measured once: a reload while the server is busy must not find the same CPU slower.
  double Bf16Speedup() override {
    static const double speedup = attune::Bf16Speedup();
    return speedup;
  }
  absl::StatusOr<QualityFigures> Quality(Precision precision) override;

  // With the kernels that the operator asked for.
  absl::StatusOr<std::shared_ptr<const Engine>> Load(Precision precision);
  // The same, for good: lets go of the others first.
  absl::StatusOr<std::shared_ptr<const Engine>> Choose(Precision precision);

 private:
  absl::StatusOr<std::shared_ptr<const Engine>> Load(const EngineOptions& options);

  const ServerOptions& options_;
  const LinearKernels kernels_;
  const QualityCache cache_;
  std::map<std::pair<Precision, LinearKernels>, std::shared_ptr<const Engine>> engines_;
};

absl::StatusOr<std::shared_ptr<const Engine>> ModelEvidence::Load(const EngineOptions& options) {
  std::shared_ptr<const Engine>& engine = engines_[{options.precision, options.kernels}];
  if (engine == nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(engine, Engine::Load(options_.model, options));
  }
  return engine;
}

absl::StatusOr<std::shared_ptr<const Engine>> ModelEvidence::Load(Precision precision) {
  absl::StatusOr<std::shared_ptr<const Engine>> engine = Load({precision, kernels_});
  if (kernels_ == LinearKernels::kNative && absl::IsUnimplemented(engine.status())) {
    return absl::UnimplementedError(
        absl::StrCat("--kernels native cannot be used in ", PrecisionName(precision), ": ",
                     engine.status().message(), "; use --kernels auto or onednn"));
  }
  return engine;
}

absl::StatusOr<std::shared_ptr<const Engine>> ModelEvidence::Choose(Precision precision) {
  std::erase_if(engines_,
                [&](const auto& engine) { return engine.first != std::pair(precision, kernels_); });
  return Load(precision);
}

absl::StatusOr<QualityFigures> ModelEvidence::Quality(Precision precision) {
  const absl::Time start = SteadyNow();
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Engine> candidate, Load(precision));
  const QualityKey key = MakeQualityKey(*candidate);
  if (const std::optional<QualityFigures> known = cache_.Find(key)) {
    LogFigures(precision, *known, start, /*from_cache=*/true);
    return *known;
  }
  Log(LogLevel::kInfo, "measuring_quality", "comparing vectors with f32's before serving them",
      {{"precision", PrecisionName(precision)}, {"texts", QualityTexts().size()}});
  // Whatever kernels serve, they are judged by the same f32.
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Engine> reference,
                          Load({Precision::kF32, LinearKernels::kAuto}));
  ATTUNE_ASSIGN_OR_RETURN(const QualityFigures figures,
                          MeasureQuality(reference, candidate, QualityTexts(), options_.threads));
  cache_.Store(key, figures);
  LogFigures(precision, figures, start, /*from_cache=*/false);
  return figures;
}

}  // namespace

absl::StatusOr<LoadedModel> LoadModel(const ServerOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Precision> wanted,
                          ParsePrecisionFlag(options.precision));
  ATTUNE_ASSIGN_OR_RETURN(const LinearKernels kernels, ParseKernelsFlag(options.kernels));
  ModelEvidence evidence(options, kernels);
  LoadedModel model;
  ATTUNE_ASSIGN_OR_RETURN(model.precision, ChoosePrecision(wanted, evidence));
  ATTUNE_ASSIGN_OR_RETURN(model.engine, evidence.Choose(model.precision.precision));
  Log(LogLevel::kInfo, "precision_chosen", model.precision.reason,
      {{"precision", PrecisionName(model.precision.precision)},
       {"kernels", model.engine->kernel_name()}});
  return model;
}

}  // namespace attune
