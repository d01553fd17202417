// Seeded weights for encoders that tests and benchmarks build.
#ifndef ATTUNE_TESTS_SUPPORT_RANDOM_WEIGHTS_H_
#define ATTUNE_TESTS_SUPPORT_RANDOM_WEIGHTS_H_

#include "engine/model/config.h"
#include "engine/model/weights.h"

namespace attune::testing {

// Weights for `config`, the same at every call. Layers have unit gain, so that hidden states stay
// of order 1 and no sublayer drowns another.
ModelWeights RandomWeights(const ModelConfig& config);

// The sizes of the default model, all-MiniLM-L6-v2.
ModelConfig MiniLmConfig();

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_RANDOM_WEIGHTS_H_
