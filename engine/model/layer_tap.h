// Listening to a forward pass from inside, without a second implementation of it.
#ifndef ATTUNE_ENGINE_MODEL_LAYER_TAP_H_
#define ATTUNE_ENGINE_MODEL_LAYER_TAP_H_

#include <cstdint>

#include "engine/tensor/matrix.h"

namespace attune {

// Called on the thread that runs the forward pass, between and inside its steps; views are borrowed
// for the call. Listening never changes one bit of the result.
class LayerTap {
 public:
  virtual ~LayerTap() = default;

  // Whether the attention weights of this head of this layer are wanted.
  virtual bool WantsWeights(int64_t /*layer*/, int64_t /*head*/) { return false; }
  // Attention weights of one text: [seq, seq], row = query, column = key.
  virtual void OnWeights(int64_t /*text*/, int64_t /*layer*/, int64_t /*head*/,
                         ConstMatrixView /*weights*/) {}

  // The hidden state [tokens, hidden] of the whole batch after the embedding layer (layer 0) and
  // after encoder layer l (layer l + 1), numbered as transformers' hidden_states.
  virtual void OnHidden(int64_t /*layer*/, ConstMatrixView /*hidden*/) {}
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_LAYER_TAP_H_
