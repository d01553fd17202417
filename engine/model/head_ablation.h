// Taking heads out of a forward pass, to see what they were good for.
#ifndef ATTUNE_ENGINE_MODEL_HEAD_ABLATION_H_
#define ATTUNE_ENGINE_MODEL_HEAD_ABLATION_H_

#include <cstdint>
#include <vector>

#include "engine/ops/attention.h"
#include "engine/tensor/matrix.h"

namespace attune {

enum class AblationMode : uint8_t {
  kNone,  // the head attends
  kZero,  // its weights are 0 (Michel et al. 2019, section 2.3)
  // Its weights are 1 / seq (Kovaleva et al. 2019, section 4.4), or in a window 1 / the keys in it.
  kUniform,
};

// What each head of each layer does. Thread-compatible; immutable once it is handed out.
class HeadAblation {
 public:
  // Every head attends.
  HeadAblation(int64_t layers, int64_t heads)
      : heads_(heads), modes_(static_cast<size_t>(layers * heads), AblationMode::kNone) {}

  AblationMode mode(int64_t layer, int64_t head) const { return modes_[IndexOf(layer, head)]; }
  void Set(int64_t layer, int64_t head, AblationMode mode) { modes_[IndexOf(layer, head)] = mode; }

 private:
  size_t IndexOf(int64_t layer, int64_t head) const {
    return static_cast<size_t>(layer * heads_ + head);
  }

  int64_t heads_;
  std::vector<AblationMode> modes_;  // [layers, heads]
};

// What an ablated head gives for one text: dst[seq, head_dim] = AblatedWeights * values[seq,
// head_dim]. REQUIRES: mode is not kNone; the shapes agree.
void AblateHead(AblationMode mode, const AttentionWindow& window, ConstMatrixView values,
                MatrixView dst);

// The weights [seq, seq] of an ablated head.
Matrix AblatedWeights(AblationMode mode, const AttentionWindow& window, int64_t seq);

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_HEAD_ABLATION_H_
