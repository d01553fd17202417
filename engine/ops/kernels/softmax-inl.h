// Softmax over the scores of a few queries. Compiled once per target: the guard toggles.
#if defined(ATTUNE_ENGINE_OPS_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTUNE_ENGINE_OPS_KERNELS_SOFTMAX_INL_H_
#undef ATTUNE_ENGINE_OPS_KERNELS_SOFTMAX_INL_H_
#else
#define ATTUNE_ENGINE_OPS_KERNELS_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/ops/kernels/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attune::internal::HWY_NAMESPACE {

constexpr int64_t kVecLanes = static_cast<int64_t>(kLanes);
// Rows whose lanes are reduced together.
constexpr int64_t kReducedRows = kLanes >= 4 ? 4 : 1;

constexpr int64_t RoundDown(int64_t n, int64_t multiple) { return n / multiple * multiple; }
constexpr int64_t RoundUp(int64_t n, int64_t multiple) {
  return RoundDown(n + multiple - 1, multiple);
}

// Keys [begin, end).
struct KeyRange {
  int64_t begin;
  int64_t end;
};

// 2^t for t <= 0, relative error 2e-7; NaN gives NaN. What is too small for f32 becomes zero, on
// targets without AVX-512 2^-126, as good as zero beside the maximum's 1.
HWY_INLINE FloatVec Exp2NotPositive(FloatVec t) {
#if HWY_TARGET == HWY_AVX3
  // Minimax polynomial of 2^x on [0, 1), relative error 8.3e-8, exactly 1 at 0. VSCALEFPS takes the
  // floor of t itself.
  constexpr int kFromFloor = 1;
  const FloatVec fraction{_mm512_reduce_ps(t.raw, kFromFloor)};
  FloatVec p = Splat(0.00186695252f);
  p = hn::MulAdd(p, fraction, Splat(0.00901748054f));
  p = hn::MulAdd(p, fraction, Splat(0.0557995141f));
  p = hn::MulAdd(p, fraction, Splat(0.240164593f));
  p = hn::MulAdd(p, fraction, Splat(0.693151295f));
  p = hn::MulAdd(p, fraction, Splat(1.0f));
  return FloatVec{_mm512_scalef_ps(p.raw, t.raw)};
#else
  return Exp2(AtLeast(t, -126.0f));
#endif
}

struct MaxOf {
  HWY_INLINE FloatVec operator()(FloatVec a, FloatVec b) const { return hn::Max(a, b); }
};
struct SumOf {
  HWY_INLINE FloatVec operator()(FloatVec a, FloatVec b) const { return hn::Add(a, b); }
};

// Lane r of the result, for r < kReducedRows: all lanes of rows[r] combined by `op`, which is
// associative but for rounding.
template <typename Op>
HWY_INLINE FloatVec ReduceRows(const FloatVec* rows, [[maybe_unused]] Op op) {
#if HWY_TARGET == HWY_SCALAR
  return rows[0];
#else
  // In each block of four lanes: rows 0 1 0 1, rows 2 3 2 3, then rows 0 1 2 3.
  const hn::Repartition<double, FloatTag> pair_tag;
  const FloatVec rows01 = op(hn::InterleaveLower(kFloatTag, rows[0], rows[1]),
                             hn::InterleaveUpper(kFloatTag, rows[0], rows[1]));
  const FloatVec rows23 = op(hn::InterleaveLower(kFloatTag, rows[2], rows[3]),
                             hn::InterleaveUpper(kFloatTag, rows[2], rows[3]));
  const auto pairs01 = hn::BitCast(pair_tag, rows01);
  const auto pairs23 = hn::BitCast(pair_tag, rows23);
  FloatVec all = op(hn::BitCast(kFloatTag, hn::InterleaveLower(pair_tag, pairs01, pairs23)),
                    hn::BitCast(kFloatTag, hn::InterleaveUpper(pair_tag, pairs01, pairs23)));
  if constexpr (kLanes >= 8) all = op(all, hn::SwapAdjacentBlocks(all));
  if constexpr (kLanes >= 16) all = op(all, hn::ReverseBlocks(kFloatTag, all));
  return all;
#endif
}

// A value per row. The room past the rows is for ReduceRows's vectors to be stored whole.
template <int64_t kRows>
using RowValues = float[static_cast<size_t>(kRows + kVecLanes)];

// Calls body(index) for 0 .. kCount - 1, each an std::integral_constant: what an array of vectors
// needs to live in registers, whatever the compiler thinks of unrolling the loop.
template <typename Body, int64_t... kIndices>
HWY_INLINE void UnrollOver(std::integer_sequence<int64_t, kIndices...> /*indices*/, Body body) {
  (body(std::integral_constant<int64_t, kIndices>()), ...);
}
template <int64_t kCount, typename Body>
HWY_INLINE void Unroll(Body body) {
  UnrollOver(std::make_integer_sequence<int64_t, kCount>(), body);
}

// The scores of a few queries in a row of a sequence.
struct ScoreRows {
  float* data;     // key k of row r is at data[r * stride + k], in vectors that begin at multiples
  int64_t stride;  // of kVecLanes
  int64_t first_query;
  int64_t last_query;  // whose scores the rows past it repeat
  int64_t seq;
  int64_t keys_before;  // how many keys before and after itself a query sees
  int64_t keys_after;

  HWY_INLINE float* At(int64_t row, int64_t key) const { return data + row * stride + key; }
  // The keys that a query sees.
  HWY_INLINE KeyRange KeysOf(int64_t query) const {
    return {std::max(query - keys_before, int64_t{0}), std::min(query + keys_after + 1, seq)};
  }
  HWY_INLINE KeyRange KeysOfRow(int64_t row) const {
    return KeysOf(std::min(first_query + row, last_query));
  }
  // The keys that some query sees: the window moves with the query.
  HWY_INLINE KeyRange SomeKeys() const {
    return {KeysOf(first_query).begin, KeysOf(last_query).end};
  }
  // The keys that every query sees; none if end <= begin.
  HWY_INLINE KeyRange EveryKey() const {
    return {KeysOf(last_query).begin, KeysOf(first_query).end};
  }
};

// Lanes of the keys [key, key + kLanes) that are in the range.
HWY_INLINE auto LanesIn(KeyRange range, int64_t key) {
  const auto lanes_before = [key](int64_t end) HWY_ATTR {
    return hn::FirstN(kFloatTag, static_cast<size_t>(std::max(end - key, int64_t{0})));
  };
  return hn::AndNot(lanes_before(range.begin), lanes_before(range.end));
}

// Calls body(row, key, mask) for every row and every vector with keys that some row sees; row is an
// std::integral_constant, key the vector's first. The mask is of the lanes that the row sees, or
// AllLanes where all rows see all.
struct AllLanes {};
template <int64_t kRows, typename Body>
HWY_INLINE void ForEachScoreVector(const ScoreRows& rows, Body body) {
  const KeyRange some = rows.SomeKeys();
  const KeyRange every = rows.EveryKey();
  for (int64_t key = RoundDown(some.begin, kVecLanes); key < some.end; key += kVecLanes) {
    if (every.begin <= key && key + kVecLanes <= every.end) {
      Unroll<kRows>([&](auto r) HWY_ATTR { body(r, key, AllLanes()); });
    } else {
      Unroll<kRows>([&](auto r) HWY_ATTR { body(r, key, LanesIn(rows.KeysOfRow(r), key)); });
    }
  }
}

HWY_INLINE FloatVec Select(AllLanes /*mask*/, FloatVec yes, FloatVec /*no*/) { return yes; }
template <typename Mask>
HWY_INLINE FloatVec Select(Mask mask, FloatVec yes, FloatVec no) {
  return hn::IfThenElse(mask, yes, no);
}

// Replaces each score by 2^(score - the row's maximum), or exactly 0 where the row does not see the
// key; inverse_sums[row] = 1 / (sum of the row).
template <int64_t kRows>
HWY_INLINE void Softmax(const ScoreRows& rows, RowValues<kRows>& inverse_sums) {
  const FloatVec lowest = Splat(std::numeric_limits<float>::lowest());
  FloatVec maxima[static_cast<size_t>(kRows)];
  FloatVec sums[static_cast<size_t>(kRows)];
  Unroll<kRows>([&](auto r) HWY_ATTR {
    maxima[r] = lowest;
    sums[r] = hn::Zero(kFloatTag);
  });
  ForEachScoreVector<kRows>(rows, [&](auto r, int64_t key, auto mask) HWY_ATTR {
    maxima[r] = hn::Max(maxima[r], Select(mask, hn::Load(kFloatTag, rows.At(r, key)), lowest));
  });
  RowValues<kRows> row_max;
  Unroll<kRows / kReducedRows>([&](auto group) HWY_ATTR {
    constexpr int64_t r = decltype(group)::value * kReducedRows;
    hn::StoreU(ReduceRows(maxima + r, MaxOf()), kFloatTag, row_max + r);
  });
  ForEachScoreVector<kRows>(rows, [&](auto r, int64_t key, auto mask) HWY_ATTR {
    const FloatVec score = hn::Load(kFloatTag, rows.At(r, key));
    const FloatVec power = Exp2NotPositive(hn::Sub(score, Splat(row_max[r])));
    const FloatVec weight = Select(mask, power, hn::Zero(kFloatTag));
    hn::Store(weight, kFloatTag, rows.At(r, key));
    sums[r] = hn::Add(sums[r], weight);
  });
  Unroll<kRows / kReducedRows>([&](auto group) HWY_ATTR {
    constexpr int64_t r = decltype(group)::value * kReducedRows;
    hn::StoreU(hn::Div(Splat(1.0f), ReduceRows(sums + r, SumOf())), kFloatTag, inverse_sums + r);
  });
}

}  // namespace attune::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
