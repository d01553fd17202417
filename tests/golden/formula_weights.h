// Weights by formula, so that a tiny model needs no weight file.
#ifndef ATTUNE_TESTS_GOLDEN_FORMULA_WEIGHTS_H_
#define ATTUNE_TESTS_GOLDEN_FORMULA_WEIGHTS_H_

#include <cstdint>

#include "engine/model/config.h"
#include "engine/model/weights.h"

namespace attune::testing {

// A bijection of 32 bits that scatters consecutive numbers, as tiny_models.py has it.
uint32_t Mix(uint32_t x);

// The weights that tiny_models.py gives its model of this shape, bit for bit: each element is a
// hash of the tensor's transformers name and the element's index. Embeddings are scaled by
// 2^embedding_scale_log2.
ModelWeights FormulaWeights(const ModelConfig& config, int embedding_scale_log2);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_GOLDEN_FORMULA_WEIGHTS_H_
