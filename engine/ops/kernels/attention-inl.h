// Attention of one head of one sequence. Compiled once per target: the guard toggles.
//
// A few queries at a time. Lanes are keys in the score product and the softmax, and head dimensions
// in the value product: the keys are transposed once per head, queries and weights are broadcast,
// and values and results lie as they are. The scores of the few queries over all their keys stay in
// the cache, so the softmax is the plain one, whatever the length.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/ops/kernels/attention_tiles-inl.h"
#include "engine/ops/kernels/kernels.h"
#include "engine/ops/kernels/math-inl.h"
#include "engine/ops/kernels/softmax-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

// Rows of qkv are far apart: past some number of them, a dense copy of the values costs less than
// the cache sets and address translations the rows themselves take.
constexpr int64_t kMaxValuesInPlace = 64;

// Where the parts of one head's scratch memory begin, in floats.
struct AttentionLayout {
  AttentionLayout(int64_t seq, int64_t head_dim)
      // Rows of scores are an odd number of cache lines apart, so that a column uses all sets.
      : scores_stride(RoundUp(seq, 2 * kVecLanes) + kVecLanes),
        values_stride(RoundUp(head_dim, kVecLanes)),
        values(RoundUp(seq, kVecLanes) * head_dim),
        scores(values + seq * values_stride),
        size(scores + kTileRows * scores_stride) {}

  int64_t scores_stride;
  int64_t values_stride;
  int64_t values;
  int64_t scores;
  int64_t size;
};

size_t AttentionScratchFloats(int64_t seq, int64_t head_dim) {
  return static_cast<size_t>(AttentionLayout(seq, head_dim).size);
}

// One head's operands as the tiles read them.
struct PackedHead {
  VectorOperand keys;    // step = head dimension, vector = keys
  VectorOperand values;  // step = key, vector = head dimensions
  float* scores;         // [kTileRows, scores_stride]
  int64_t scores_stride;
};

// dst = the keys transposed, a panel of kLanes keys after the other, times `scale`. The lanes past
// the last key repeat it.
HWY_INLINE void PackKeys(const AttentionHeadArgs& args, float scale, float* HWY_RESTRICT dst) {
  for (int64_t begin = 0; begin < args.seq; begin += kVecLanes) {
    const float* rows[kLanes];
    for (int64_t r = 0; r < kVecLanes; ++r) {
      rows[r] = args.keys + std::min(begin + r, args.seq - 1) * args.qkv_stride;
    }
    TransposeRows(rows, args.head_dim, scale, dst + begin * args.head_dim);
  }
}

// dst[seq, stride] = values, then zeros.
HWY_INLINE void PackValues(const AttentionHeadArgs& args, int64_t stride, float* HWY_RESTRICT dst) {
  for (int64_t k = 0; k < args.seq; ++k) {
    std::copy_n(args.values + k * args.qkv_stride, args.head_dim, dst + k * stride);
    std::fill(dst + k * stride + args.head_dim, dst + (k + 1) * stride, 0.0f);
  }
}

HWY_INLINE PackedHead PackHead(const AttentionHeadArgs& args) {
  constexpr double kLog2EDouble = 1.4426950408889634;
  const AttentionLayout layout(args.seq, args.head_dim);
  PackedHead head;
  head.scores = args.scratch + layout.scores;
  head.scores_stride = layout.scores_stride;

  float* keys = args.scratch;
  // The softmax takes powers of two.
  PackKeys(args, static_cast<float>(args.score_scale * kLog2EDouble), keys);
  head.keys = {keys, kVecLanes, args.head_dim * kVecLanes};

  if (args.seq <= kMaxValuesInPlace && args.head_dim % kVecLanes == 0) {
    head.values = {args.values, args.qkv_stride, kVecLanes};
  } else {
    float* values = args.scratch + layout.values;
    PackValues(args, layout.values_stride, values);
    head.values = {values, layout.values_stride, kVecLanes};
  }
  return head;
}

// Queries [begin, begin + count).
HWY_INLINE ScoreRows ScoreRowsOf(const AttentionHeadArgs& args, const PackedHead& head,
                                 int64_t begin, int64_t count) {
  return {.data = head.scores,
          .stride = head.scores_stride,
          .first_query = begin,
          .last_query = begin + count - 1,
          .seq = args.seq,
          .keys_before = args.keys_before,
          .keys_after = args.keys_after};
}

// The scores of queries and keys, for the vectors with keys that some query sees.
template <int64_t kRows>
HWY_INLINE void Score(const AttentionHeadArgs& args, const PackedHead& head,
                      const ScoreRows& rows) {
  const float* queries[static_cast<size_t>(kRows)];
  // One step after the other: computed at once, the compiler puts the addresses into vectors.
  const float* query = args.queries + rows.first_query * args.qkv_stride;
  int64_t left = rows.last_query - rows.first_query;
  Unroll<kRows>([&](auto r) {
    queries[r] = query;
    query += left > 0 ? args.qkv_stride : 0;
    --left;
  });
  const int64_t depth = args.head_dim;
  const KeyRange some_keys = rows.SomeKeys();
  const int64_t first_vec = some_keys.begin / kVecLanes;
  const int64_t last_vec = RoundUp(some_keys.end, kVecLanes) / kVecLanes;
  const VectorOperand keys = head.keys.FromVec(first_vec);
  ForEachRunOfVecs(last_vec - first_vec, [&](int64_t vec, auto vecs) HWY_ATTR {
    constexpr int64_t kVecs = decltype(vecs)::value;
    TileSums<kRows, kVecs> sums;
    MultiplyTile<kRows, kVecs>(queries, keys.FromVec(vec), depth, sums);
    for (int64_t r = 0; r < kRows; ++r) {
      float* scores = rows.At(r, (first_vec + vec) * kVecLanes);
      for (int64_t v = 0; v < kVecs; ++v) hn::Store(sums[r][v], kFloatTag, scores + v * kVecLanes);
    }
  });
}

// values[0, min(n, kLanes)) of a vector.
HWY_INLINE void StoreUpTo(FloatVec vec, int64_t n, float* dst) {
  if (n >= kVecLanes) {
    hn::StoreU(vec, kFloatTag, dst);
  } else {
    hn::BlendedStore(vec, hn::FirstN(kFloatTag, static_cast<size_t>(n)), kFloatTag, dst);
  }
}

// dst[query] = inverse_sums[row] * (sum over the keys of weight[row][key] * values[key])
template <int64_t kRows>
HWY_INLINE void MixValues(const AttentionHeadArgs& args, const PackedHead& head,
                          const ScoreRows& rows, const RowValues<kRows>& inverse_sums) {
  const KeyRange some_keys = rows.SomeKeys();
  const float* weights[static_cast<size_t>(kRows)];
  const float* row_weights = rows.At(0, some_keys.begin);
  Unroll<kRows>([&](auto r) {
    weights[r] = row_weights;
    row_weights += rows.stride;
  });
  const int64_t depth = some_keys.end - some_keys.begin;
  VectorOperand values = head.values;
  values.data += some_keys.begin * values.step_stride;
  float* const dst = args.dst + rows.first_query * args.dst_stride;
  const int64_t dst_stride = args.dst_stride;
  const int64_t head_dim = args.head_dim;
  const int64_t count = rows.last_query - rows.first_query + 1;
  ForEachRunOfVecs(RoundUp(head_dim, kVecLanes) / kVecLanes, [&](int64_t vec, auto vecs) HWY_ATTR {
    constexpr int64_t kVecs = decltype(vecs)::value;
    TileSums<kRows, kVecs> sums;
    MultiplyTile<kRows, kVecs>(weights, values.FromVec(vec), depth, sums);
    for (int64_t r = 0; r < kRows; ++r) {
      if (r >= count) break;
      const FloatVec inverse_sum = Splat(inverse_sums[r]);
      for (int64_t v = 0; v < kVecs; ++v) {
        const int64_t column = (vec + v) * kVecLanes;
        StoreUpTo(hn::Mul(sums[r][v], inverse_sum), head_dim - column,
                  dst + r * dst_stride + column);
      }
    }
  });
}

// Rows of the attention matrix.
template <int64_t kRows>
HWY_INLINE void WriteWeights(const AttentionHeadArgs& args, const ScoreRows& rows,
                             const RowValues<kRows>& inverse_sums) {
  const KeyRange some_keys = rows.SomeKeys();
  for (int64_t query = rows.first_query; query <= rows.last_query; ++query) {
    const int64_t r = query - rows.first_query;
    float* const weights = args.weights + query * args.seq;
    std::fill(weights, weights + some_keys.begin, 0.0f);
    for (int64_t k = some_keys.begin; k < some_keys.end; ++k) {
      weights[k] = *rows.At(r, k) * inverse_sums[r];
    }
    std::fill(weights + some_keys.end, weights + args.seq, 0.0f);
  }
}

// The queries of `rows`, at most kRows. Results of the rows past them go nowhere.
template <int64_t kRows>
HWY_NOINLINE void AttendRows(const AttentionHeadArgs& args, const PackedHead& head,
                             const ScoreRows& rows) {
  RowValues<kRows> inverse_sums;
  Score<kRows>(args, head, rows);
  Softmax<kRows>(rows, inverse_sums);
  MixValues<kRows>(args, head, rows, inverse_sums);
  if (args.weights != nullptr) WriteWeights<kRows>(args, rows, inverse_sums);
}

void AttentionHead(const AttentionHeadArgs& args) {
  constexpr int64_t kFewRows = std::max(kTileRows / 2, kReducedRows);
  const PackedHead head = PackHead(args);
  for (int64_t begin = 0; begin < args.seq; begin += kTileRows) {
    const int64_t count = std::min(kTileRows, args.seq - begin);
    const ScoreRows rows = ScoreRowsOf(args, head, begin, count);
    if (count > kFewRows) {
      AttendRows<kTileRows>(args, head, rows);
    } else {
      AttendRows<kFewRows>(args, head, rows);
    }
  }
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
