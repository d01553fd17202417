#ifndef ATTUNE_SERVER_MODEL_LOADER_H_
#define ATTUNE_SERVER_MODEL_LOADER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "server/precision_choice.h"
#include "server/server_options.h"

namespace attune {

struct LoadedModel {
  std::shared_ptr<const Engine> engine;
  PrecisionChoice precision;
};

// Loads options.model in the precision that options.precision asks for. A reduced precision is
// measured against f32 first, unless options.quality_cache remembers the figures: that takes
// seconds, options.threads threads and the memory of the model twice. Logs what was measured and
// chosen. Errors as Engine::Load and ChoosePrecision.
// REQUIRES: Validate(options) is OK, options.threads >= 1.
absl::StatusOr<LoadedModel> LoadModel(const ServerOptions& options);

}  // namespace attune

#endif  // ATTUNE_SERVER_MODEL_LOADER_H_
