// Keeps the attention weights of chosen layers and heads of one text.
#ifndef ATTUNE_ENGINE_INTERPRET_ATTENTION_CAPTURE_H_
#define ATTUNE_ENGINE_INTERPRET_ATTENTION_CAPTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/layer_tap.h"

namespace attune {

// Resolves a caller's choice of layers or heads: empty means all, -1 the last, down to -count.
// Returns the chosen numbers ascending. kInvalidArgument for a number out of range or given twice,
// naming `field`, the value and the valid range.
absl::StatusOr<std::vector<int64_t>> ResolveSelection(absl::string_view field,
                                                      absl::Span<const int64_t> requested,
                                                      int64_t count);

// A tap for a batch of one text. Weights arrive as f32, little-endian, row-major
// [layers, heads, seq, seq], in the order of the chosen numbers. Thread-compatible.
class AttentionCapture final : public LayerTap {
 public:
  // layers and heads ascending, as ResolveSelection returns them.
  AttentionCapture(std::vector<int64_t> layers, std::vector<int64_t> heads, int64_t seq);

  // Bytes that a capture of this shape holds: what an admission check compares before computing.
  // Saturates at INT64_MAX.
  static int64_t SizeBytes(int64_t layers, int64_t heads, int64_t seq);

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

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ATTENTION_CAPTURE_H_
