#include "engine/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/ops/kernels/attention_bf16.h"
#include "engine/ops/kernels/kernels.h"
#include "engine/ops/native_kernel.h"
#include "engine/ops/op_context_impl.h"

namespace attune {
namespace {

struct HeadKernel {
  size_t (*scratch_floats)(int64_t seq, int64_t head_dim);
  void (*attend)(const internal::AttentionHeadArgs& args);
};

HeadKernel HeadKernelOf(AttentionProducts products) {
  if (products == AttentionProducts::kBf16) {
    return {internal::AttentionBf16ScratchFloats, internal::AttentionHeadBf16};
  }
  const internal::Kernels& kernels = internal::BestKernels();
  return {kernels.attention_scratch_floats, kernels.attention_head};
}

}  // namespace

bool HasAttentionProducts(AttentionProducts products) {
  return products == AttentionProducts::kF32 ||
         internal::CheckAvailable(internal::NativeKernel::kBf16).ok();
}

AttentionProducts FasterAttentionProducts() {
  return internal::PrefersBf16Products() ? AttentionProducts::kBf16 : AttentionProducts::kF32;
}

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
  ATTUNE_CHECK(HasAttentionProducts(shape.products));
  const HeadKernel kernel = HeadKernelOf(shape.products);
  OpContext::Impl& scratch = context.impl();
  internal::AttentionHeadArgs args;
  args.seq = seq;
  args.head_dim = head_dim;
  args.keys_before = std::min(shape.window.before, seq);
  args.keys_after = std::min(shape.window.after, seq);
  args.qkv_stride = qkv.stride;
  args.dst_stride = dst.stride;
  args.score_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  args.scratch =
      internal::ScratchFloats(scratch.attention_scratch, kernel.scratch_floats(seq, head_dim));
  for (int64_t head = shape.range.begin; head < end_head; ++head) {
    const bool wanted = sink != nullptr && sink->Wants(head);
    args.queries = qkv.data + head * head_dim;
    args.keys = args.queries + hidden;
    args.values = args.keys + hidden;
    args.dst = dst.data + head * head_dim;
    args.weights =
        wanted ? internal::ScratchFloats(scratch.attention_weights, static_cast<size_t>(seq * seq))
               : nullptr;
    kernel.attend(args);
    if (wanted) sink->OnWeights(head, ConstMatrixView(args.weights, seq, seq));
  }
}

}  // namespace attune
