// Keeps the attention weights of chosen layers and heads of one text.
#ifndef ATTUNE_TESTS_SUPPORT_ATTENTION_CAPTURE_H_
#define ATTUNE_TESTS_SUPPORT_ATTENTION_CAPTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/model/layer_tap.h"

namespace attune::testing {

// A tap for a batch of one text. Weights arrive as f32, little-endian, row-major
// [layers, heads, seq, seq], in the order of the chosen numbers. Thread-compatible.
class AttentionCapture final : public LayerTap {
 public:
  // layers and heads ascending.
  AttentionCapture(std::vector<int64_t> layers, std::vector<int64_t> heads, int64_t seq);

  bool WantsWeights(int64_t layer, int64_t head) override;
  void OnWeights(int64_t text, int64_t layer, int64_t head, ConstMatrixView weights) override;

  // The captured bytes; call once, after the forward pass. kInternal if a wanted matrix is missing
  // or holds a value that is not finite.
  absl::StatusOr<std::string> TakeBytes();

 private:
  const std::vector<int64_t> layers_;
  const std::vector<int64_t> heads_;
  const int64_t seq_;
  std::vector<bool> received_;  // [layers * heads]
  bool finite_ = true;
  std::string bytes_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_ATTENTION_CAPTURE_H_
