// The two middle steps of attention: scores from queries and keys, weights from scores.
#ifndef ATTUNE_ENGINE_INTERPRET_ATTEND_SCORE_H_
#define ATTUNE_ENGINE_INTERPRET_ATTEND_SCORE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "engine/interpret/attend.h"
#include "engine/tensor/matrix.h"

namespace attune {

// scores[n, seq] of n queries of one head against all its keys, f32 from f64 sums.
// queries [n, head_dim]; keys_transposed [head_dim, seq]; additive_vector [head_dim], read by
// kAdditive only. REQUIRES: the shapes agree.
void ScoreQueries(AttendScore score, ConstMatrixView queries, ConstMatrixView keys_transposed,
                  absl::Span<const float> additive_vector, MatrixView scores);

// weights[j] = normalizer(scores)[j] for every j in `visible`; other elements are left alone.
// kSoftmax: exp(s_j - max) / sum, exponents and sum in f64. kRelu: max(0, s_j). All [seq].
void NormalizeScores(AttendNormalizer normalizer, absl::Span<const float> scores,
                     absl::Span<const int64_t> visible, absl::Span<float> weights);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ATTEND_SCORE_H_
