// Scaled dot-product attention over packed sequences (Vaswani et al. 2017, equation 1).
#ifndef ATTUNE_ENGINE_OPS_ATTENTION_H_
#define ATTUNE_ENGINE_OPS_ATTENTION_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "engine/ops/op_context.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Receives attention weights while they are computed. Called on the thread that runs the op.
class AttentionWeightsSink {
 public:
  virtual ~AttentionWeightsSink() = default;
  // Whether the weights of `head` are wanted. Asked once per head.
  virtual bool Wants(int64_t head) = 0;
  // weights[seq, seq] of one head: row = query (from), column = key (to), each row sums to 1.
  // Borrowed for the call.
  virtual void OnWeights(int64_t head, ConstMatrixView weights) = 0;
};

// How many tokens before and after itself a token attends to, itself apart: 0 or more. By default
// all. The cost of attention grows with the window, not with the sequence.
struct AttentionWindow {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  int64_t before = kUnlimited;
  int64_t after = kUnlimited;

  bool is_all() const { return before == kUnlimited && after == kUnlimited; }
  // The keys [begin, end) that a query of `seq` tokens attends to.
  int64_t begin(int64_t query) const { return query > before ? query - before : 0; }
  int64_t end(int64_t query, int64_t seq) const {
    return seq - 1 - query > after ? query + after + 1 : seq;
  }
};

// Heads [begin, end), by default all.
struct HeadRange {
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
};

// What queries, keys, values and weights are rounded to before they are multiplied.
enum class AttentionProducts { kF32, kBf16 };

// Whether this CPU, as capped, has the instructions: kBf16 needs AVX512_BF16.
bool HasAttentionProducts(AttentionProducts products);
// kBf16 where it is there and faster than kF32, else kF32; the same throughout a process. The first
// call may take some hundred microseconds: it measures. Thread-safe.
AttentionProducts FasterAttentionProducts();

struct AttentionShape {
  int64_t heads = 1;
  AttentionWindow window;
  // Whose columns are computed and written; the other heads' are left alone, so that threads can
  // share heads out.
  HeadRange range = {};
  AttentionProducts products = AttentionProducts::kF32;
};

// For one sequence of seq tokens:
//   dst[seq, heads * head_dim] = concat_h softmax(Q_h K_h^T / sqrt(head_dim)) V_h
// qkv[seq, 3 * heads * head_dim]: queries, keys and values of all heads side by side, f32.
// Softmax is exact, in f32, over the keys in the query's window; the others have weight 0. Products
// are summed in f32, whatever was rounded before; the weights that `sink` gets are not. `sink`
// may be null; asking for weights does not change one bit of dst. A sequence's result depends only
// on its own rows. Scratch memory grows with seq, not with its square, but for the weights asked
// for. REQUIRES: dst does not overlap qkv; qkv.cols == 3 * dst.cols; dst.cols % heads == 0;
// HasAttentionProducts.
void SelfAttention(OpContext& context, ConstMatrixView qkv, const AttentionShape& shape,
                   MatrixView dst, AttentionWeightsSink* sink);

// The same, every token attending to every other.
inline void SelfAttention(OpContext& context, ConstMatrixView qkv, int64_t heads, MatrixView dst,
                          AttentionWeightsSink* sink) {
  SelfAttention(context, qkv, AttentionShape{.heads = heads, .window = {}}, dst, sink);
}

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_ATTENTION_H_
