// Attention rollout (Abnar & Zuidema 2020, section 3).
#ifndef ATTUNE_ENGINE_INTERPRET_ROLLOUT_H_
#define ATTUNE_ENGINE_INTERPRET_ROLLOUT_H_

#include "engine/tensor/matrix.h"

namespace attune {

// B = (weights + I) / 2 of weights [seq, seq]: attention and the residual by half each.
Matrix WithResidual(ConstMatrixView weights);

// How much of each layer's output comes from each input token, if attention moved token identities
// and the residual counted for half: R_l = B_l R_(l-1) with B = (A + I) / 2, A the mean of the
// heads. Thread-compatible.
class Rollout {
 public:
  // Adds the next layer, from layer 0 on, by the mean [seq, seq] of its heads. 0 x 0 if all heads
  // are ablated to zero: B is I then, since nothing moves.
  void AddLayer(ConstMatrixView mean_weights);

  // R [seq, seq] of the layers so far: row = token of the last layer, column = input token; rows
  // sum to 1. 0 x 0 before any layer with weights.
  ConstMatrixView product() const { return product_.view(); }

 private:
  Matrix product_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_ROLLOUT_H_
