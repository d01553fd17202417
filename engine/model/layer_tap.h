// Listening to a forward pass from inside, without a second implementation of it.
#ifndef ATTUNE_ENGINE_MODEL_LAYER_TAP_H_
#define ATTUNE_ENGINE_MODEL_LAYER_TAP_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "engine/model/weights.h"
#include "engine/ops/linear.h"
#include "engine/ops/op_context.h"
#include "engine/tensor/matrix.h"

namespace attune {

// One text's attention block in one layer, between the heads and what follows them: everything
// that the block's output is made of,
//   norm(input + W_o mixed + b_o), mixed = the heads' weighted values side by side.
struct AttentionStep {
  int64_t text = 0;
  int64_t layer = 0;
  ConstMatrixView input;  // [seq, hidden]: the residual stream that the layer reads
  ConstMatrixView qkv;    // [seq, 3 * hidden]: queries, keys and values of all heads
  ConstMatrixView mixed;  // [seq, hidden]
  const Linear& output;   // W_o, b_o
  const LayerNormWeights& norm;
  float epsilon = 0;
  OpContext& context;  // of the calling thread, to run `output` with
  // The rest of the layer for rows of the tap's own, any number: `residual` [rows, hidden], as
  // `input`, becomes the layer's output for `mixed` [rows, hidden]. For this step's rows that is,
  // bit for bit, what the pass itself computes. Dense, with memory for Linear::PaddedRows(rows)
  // rows each. Shared out to the pass's team. kResourceExhausted if memory runs out, kInternal if
  // oneDNN fails.
  std::function<absl::Status(MatrixView residual, MatrixView mixed)> finish = nullptr;
};

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

  // Whether the attention block of this layer is wanted.
  virtual bool WantsAttention(int64_t /*layer*/) { return false; }
  // After all the wanted weights of that text and layer.
  virtual void OnAttention(const AttentionStep& /*step*/) {}

  // The hidden state [tokens, hidden] of the whole batch after the embedding layer (layer 0) and
  // after encoder layer l (layer l + 1), numbered as transformers' hidden_states.
  virtual void OnHidden(int64_t /*layer*/, ConstMatrixView /*hidden*/) {}
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_LAYER_TAP_H_
