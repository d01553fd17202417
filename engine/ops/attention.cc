#include "engine/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/ops/kernels/kernels.h"
#include "engine/ops/op_context_impl.h"

namespace attune {

void SelfAttention(OpContext& context, ConstMatrixView qkv, const AttentionShape& shape,
                   MatrixView dst, AttentionWeightsSink* sink) {
  const int64_t heads = shape.heads;
  const int64_t seq = dst.rows;
  const int64_t hidden = dst.cols;
  ATTUNE_CHECK(seq >= 1 && qkv.rows == seq);
  ATTUNE_CHECK(heads >= 1 && hidden % heads == 0 && qkv.cols == 3 * hidden);
  ATTUNE_CHECK(shape.window.before >= 0 && shape.window.after >= 0);
  const int64_t end_head = std::min(shape.range.end, heads);
  ATTUNE_CHECK(shape.range.begin >= 0 && shape.range.begin <= end_head);
  const int64_t head_dim = hidden / heads;
  const internal::Kernels& kernels = internal::BestKernels();
  OpContext::Impl& scratch = context.impl();
  internal::AttentionHeadArgs args;
  args.seq = seq;
  args.head_dim = head_dim;
  args.keys_before = std::min(shape.window.before, seq);
  args.keys_after = std::min(shape.window.after, seq);
  args.qkv_stride = qkv.stride;
  args.dst_stride = dst.stride;
  args.score_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  args.scratch = internal::ScratchFloats(scratch.attention_scratch,
                                         kernels.attention_scratch_floats(seq, head_dim));
  for (int64_t head = shape.range.begin; head < end_head; ++head) {
    const bool wanted = sink != nullptr && sink->Wants(head);
    args.queries = qkv.data + head * head_dim;
    args.keys = args.queries + hidden;
    args.values = args.keys + hidden;
    args.dst = dst.data + head * head_dim;
    args.weights =
        wanted ? internal::ScratchFloats(scratch.attention_weights, static_cast<size_t>(seq * seq))
               : nullptr;
    kernels.attention_head(args);
    if (wanted) sink->OnWeights(head, ConstMatrixView(args.weights, seq, seq));
  }
}

}  // namespace attune
