// What each head of an attention block adds to its output for each token.
#ifndef ATTUNE_ENGINE_INTERPRET_HEAD_VECTORS_H_
#define ATTUNE_ENGINE_INTERPRET_HEAD_VECTORS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/model/layer_tap.h"
#include "engine/ops/linear.h"
#include "engine/tensor/matrix.h"

namespace attune {

// The output projection y = W_O x + b_O of an attention block, as plain numbers.
struct OutputWeights {
  Matrix columns;  // [hidden, hidden]: row c is column c of W_O, what element c of x adds to y
  Matrix bias;     // [1, hidden]
};

// Reads them from the packed layer, which rounded them as its precision asks, by projecting unit
// vectors: costs a projection of `hidden` tokens. kInternal if oneDNN fails.
absl::StatusOr<OutputWeights> ReadOutputWeights(const AttentionStep& step);

// f_h(x_j) = W_O[h] v_j^h of every head h, for a block of tokens at a time: what head h adds to a
// token that gives token j all its attention, without b_O. Takes a head's own columns of W_O alone,
// so that all heads together cost one projection. In f32. Thread-compatible.
class HeadVectors {
 public:
  // Tokens of a block.
  static constexpr int64_t kMaxTokens = 8;

  // `step` is borrowed. `columns` are OutputWeights::columns, or a linear function of them, which
  // is then that function of each f_h(x_j). Errors as Linear::Create.
  static absl::StatusOr<HeadVectors> Create(const AttentionStep& step, int64_t heads,
                                            const Matrix& columns);

  // Tokens [begin, end), at most kMaxTokens. kInternal if oneDNN fails.
  absl::Status Load(int64_t begin, int64_t end);

  // f_head(x_token) [hidden], until the next Load. REQUIRES: `token` is loaded.
  absl::Span<const float> Of(int64_t head, int64_t token) const;

 private:
  HeadVectors(const AttentionStep& step, int64_t heads);

  const AttentionStep* step_;
  int64_t head_dim_;
  std::vector<std::unique_ptr<const Linear>> projections_;  // [heads]: hidden x head_dim each
  Matrix values_;                                           // [kMaxTokens, head_dim] of a head
  std::vector<Matrix> vectors_;                             // [heads]: [kMaxTokens, hidden] each
  int64_t begin_ = 0;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_HEAD_VECTORS_H_
