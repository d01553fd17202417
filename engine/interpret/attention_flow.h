// Attention flow (Abnar & Zuidema 2020, section 3).
#ifndef ATTUNE_ENGINE_INTERPRET_ATTENTION_FLOW_H_
#define ATTUNE_ENGINE_INTERPRET_ATTENTION_FLOW_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tensor/matrix.h"

namespace attune {

// How much could flow from an input token to a token of a layer's output, if each weight of
// B = (A + I) / 2, A the mean of a layer's heads, were the width of a pipe between two tokens of
// neighbouring layers. Where rollout multiplies the weights along a path, this takes the narrowest.
// Thread-compatible.
class AttentionFlow {
 public:
  // Each of the seq^2 values of a layer is a maximum flow through all layers below it, so that time
  // grows with the fourth power of the tokens.
  static constexpr int64_t kMaxTokens = 32;

  // Layers can be added if seq <= kMaxTokens.
  explicit AttentionFlow(int64_t seq) : seq_(seq) {}

  // Adds the next layer, from layer 0 on, as Rollout::AddLayer.
  void AddLayer(ConstMatrixView mean_weights);

  // [seq, seq]: from the token of the last layer that was added (row) to the input token (column);
  // each row divided by its sum. `should_stop` is asked once a row, and may be null: true ends with
  // kCancelled. REQUIRES: there is a layer.
  absl::StatusOr<Matrix> Flows(const std::function<bool()>& should_stop) const;

 private:
  const int64_t seq_;
  std::vector<std::vector<double>> capacities_;  // [layers]: B [seq, seq], row = token above
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ATTENTION_FLOW_H_
