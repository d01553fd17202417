// Which tokens of two texts carry the similarity of their vectors.
#ifndef ATTUNE_ENGINE_INTERPRET_SIMILARITY_EXPLANATION_H_
#define ATTUNE_ENGINE_INTERPRET_SIMILARITY_EXPLANATION_H_

#include "absl/status/statusor.h"
#include "engine/ops/pooling.h"
#include "engine/tensor/matrix.h"

namespace attune {

struct SimilarityExplanation {
  // Of the two text vectors, -1 to 1; 0 if either is zero.
  double cosine = 0;
  // [first tokens, second tokens], f32: what each pair of tokens adds to the cosine.
  Matrix contributions;
};

// Whether a text's vector is a mean of its token vectors, weighted or not, so that its cosine with
// another is a sum over pairs of tokens.
bool IsTokenMean(PoolingMode mode);

// The cosine of the vectors that `mode` makes of two texts' token vectors first[n, hidden] and
// second[m, hidden], n and m at least 1, and what each pair of tokens adds to it. A mean is linear:
// with a = sum_i w_i a_i and b = sum_j v_j b_j
//   cosine(a, b) = sum_ij w_i v_j (a_i . b_j) / (|a| |b|)
// so that this is exact, not an attribution that has to approximate. Scaling the vectors to length
// 1 changes none of it. Computed in f64; each contribution is rounded to f32, twice at most.
// kFailedPrecondition if `mode` is not a mean, kInternal if the cosine is not finite.
absl::StatusOr<SimilarityExplanation> ExplainSimilarity(PoolingMode mode, ConstMatrixView first,
                                                        ConstMatrixView second);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_SIMILARITY_EXPLANATION_H_
