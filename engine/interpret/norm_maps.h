// Norm-based attention maps: how long a vector each token adds to each other token's output,
// instead of with what weight it was read.
//   Kobayashi, Kuribayashi, Yokoi, Inui: "Attention is Not Only a Weight", EMNLP 2020
//   the same: "Incorporating Residual and Normalization Layers into Analysis of Masked Language
//   Models", EMNLP 2021
#ifndef ATTUNE_ENGINE_INTERPRET_NORM_MAPS_H_
#define ATTUNE_ENGINE_INTERPRET_NORM_MAPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/interpret/map_query.h"
#include "engine/model/layer_tap.h"
#include "engine/tensor/matrix.h"

namespace attune {

// |f_h(x_j)| of every head and token: [heads, seq]. f_h(x_j) is what head h adds to a token that
// gives token j all its attention: its value projected by the head's part of W_O, without b_O.
// kInternal if oneDNN fails.
absl::StatusOr<Matrix> ValueNorms(const AttentionStep& step, int64_t heads);

struct NormMap {
  Matrix norms;                      // [seq, seq]: row = query, column = key
  std::vector<double> mixing_ratio;  // [seq]: |others| / (|others| + |own|) of each row's vectors
};

// kAttnNorm, kResNorm or kResLnNorm of one layer of one text; weights[heads] are the layer's
// matrices [seq, seq]. The squared length of a sum over heads is a^T G a, a the heads' weights and
// G the products of the heads' vectors for that key, so that memory is seq^2 and not seq^2 *
// hidden. W_O is what the model's precision made of it, the rest f32 with sums in f64. kInternal if
// oneDNN fails.
absl::StatusOr<NormMap> MakeNormMap(MapMatrix kind, const AttentionStep& step,
                                    absl::Span<const Matrix> weights);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_NORM_MAPS_H_
