#ifndef ATTUNE_ENGINE_INTERPRET_HIDDEN_SIMILARITY_H_
#define ATTUNE_ENGINE_INTERPRET_HIDDEN_SIMILARITY_H_

#include "engine/tensor/matrix.h"

namespace attune {

// [seq, seq]: the cosine of each two rows of hidden [seq, hidden]; 0 with a row of zeros. Sums in
// f64. Thread-safe.
Matrix HiddenSimilarity(ConstMatrixView hidden);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_HIDDEN_SIMILARITY_H_
