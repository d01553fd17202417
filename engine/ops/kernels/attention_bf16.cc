// Attention with VDPBF16PS. Compiled with -mavx512f -mavx512dq -mavx512bw -mavx512bf16.
//
// Lanes are queries, 16 or 32 at a time: their scores, weights and results are computed transposed,
// so that the softmax never adds across lanes, and keys and values are broadcast from rows that lie
// as they are. A word is two bf16 that are multiplied and added together: of a head's dimensions in
// the score product, of the keys in the value product. The scores of a block of queries over all
// keys stay in the cache, so the softmax is the plain one, whatever the length.
#include "engine/ops/kernels/attention_bf16.h"

#include <immintrin.h>

#include <cstring>

namespace attune::internal {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kMaxVecs = 2;
// Keys, or head dimensions, that a tile of sums has for each vector of queries: 8 x 2 sums hide the
// latency of adding to them.
constexpr int64_t kTile = 8;

constexpr int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t RoundDown(int64_t n, int64_t multiple) { return n / multiple * multiple; }
constexpr int64_t RoundUp(int64_t n, int64_t multiple) {
  return RoundDown(n + multiple - 1, multiple);
}

// Where the parts of one head's scratch memory begin, in floats, or words of the same size.
struct Layout {
  Layout(int64_t seq, int64_t head_dim)
      : words(RoundUp(head_dim, 2) / 2),
        words_stride(RoundUp(words, kLanes)),
        values_stride(RoundUp(head_dim, kLanes)),
        padded_keys(RoundUp(seq, kTile)),
        values(padded_keys * words_stride),
        queries(values + padded_keys / 2 * values_stride),
        scores(queries + words_stride * kMaxVecs * kLanes),
        weights(scores + padded_keys * kMaxVecs * kLanes),
        results(weights + padded_keys / 2 * kMaxVecs * kLanes),
        size(results + values_stride * kMaxVecs * kLanes) {}

  int64_t words;          // of a query or key
  int64_t words_stride;   // from a key to the next
  int64_t values_stride;  // from two keys' values to the next two's
  int64_t padded_keys;    // keys [padded_keys, words_stride] come first
  int64_t values;         // [padded_keys / 2, values_stride]
  int64_t queries;        // [words_stride, vecs, kLanes]
  int64_t scores;         // [padded_keys, vecs, kLanes]
  int64_t weights;        // [padded_keys / 2, vecs, kLanes]
  int64_t results;        // [values_stride, vecs, kLanes]
  int64_t size;
};

inline __m512i BroadcastWord(const float* src) {
  int32_t word;
  std::memcpy(&word, src, sizeof(word));
  return _mm512_set1_epi32(word);
}

inline __m512 AddProducts(__m512 sums, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}

// The words of which `first` is the lower half and `second` the upper.
inline __m512i Interleave(__m512 first, __m512 second) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512bh halves = _mm512_cvtne2ps_pbh(second, first);
  return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(halves));
}

// src[0, min(n, kLanes)), then zeros.
inline __m512 LoadUpTo(const float* src, int64_t n) {
  if (n >= kLanes) return _mm512_loadu_ps(src);
  if (n <= 0) return _mm512_setzero_ps();
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), src);
}
inline void StoreUpTo(__m512i values, int64_t n, float* dst) {
  if (n >= kLanes) {
    _mm512_storeu_si512(dst, values);
  } else {
    _mm512_mask_storeu_epi32(dst, static_cast<__mmask16>((1u << n) - 1), values);
  }
}

// Sixteen words: src[begin, begin + 32) times `scale`, zeros from src[n] on.
inline __m512i LoadWords(const float* src, int64_t begin, int64_t n, __m512 scale) {
  const __m512 lower = _mm512_mul_ps(LoadUpTo(src + begin, n - begin), scale);
  const __m512 upper = _mm512_mul_ps(LoadUpTo(src + begin + kLanes, n - begin - kLanes), scale);
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper, lower));
}

// rows[r][c] becomes rows[c][r].
inline void Transpose(__m512i (&rows)[kLanes]) {
  __m512i pairs[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  // Lane L of quads[4 * i + c]: column 4 * L + c of rows 4 * i to 4 * i + 3.
  __m512i quads[kLanes];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  constexpr int kEven = 0x88;  // lanes 0 and 2 of both
  constexpr int kOdd = 0xdd;
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even0 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], kEven);
    const __m512i even1 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], kEven);
    const __m512i odd0 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], kOdd);
    const __m512i odd1 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], kOdd);
    rows[c] = _mm512_shuffle_i32x4(even0, even1, kEven);
    rows[4 + c] = _mm512_shuffle_i32x4(odd0, odd1, kEven);
    rows[8 + c] = _mm512_shuffle_i32x4(even0, even1, kOdd);
    rows[12 + c] = _mm512_shuffle_i32x4(odd0, odd1, kOdd);
  }
}

// 2^t for t <= 0, relative error 1e-4, a twentieth of the rounding to bf16; exactly 1 at 0 and 0 at
// -infinity; NaN gives NaN. Minimax polynomial of 2^x on [0, 1); VSCALEFPS takes the floor itself.
inline __m512 Exp2(__m512 t) {
  constexpr int kFromFloor = 1;
  const __m512 fraction = _mm512_reduce_ps(t, kFromFloor);
  __m512 p = _mm512_set1_ps(0.0770672f);
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.22764482f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.69511682f));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, t);
}

void PackKeys(const AttentionHeadArgs& args, const Layout& layout) {
  const __m512 one = _mm512_set1_ps(1.0f);
  for (int64_t key = 0; key < layout.padded_keys; ++key) {
    const int64_t dims = key < args.seq ? args.head_dim : 0;
    const float* row = args.keys + Min(key, args.seq - 1) * args.qkv_stride;
    for (int64_t word = 0; word < layout.words_stride; word += kLanes) {
      _mm512_store_si512(args.scratch + key * layout.words_stride + word,
                         LoadWords(row, 2 * word, dims, one));
    }
  }
}

void PackValues(const AttentionHeadArgs& args, const Layout& layout) {
  float* dst = args.scratch + layout.values;
  for (int64_t key = 0; key < args.seq; key += 2, dst += layout.values_stride) {
    const float* row = args.values + key * args.qkv_stride;
    const bool has_next = key + 1 < args.seq;
    const float* next = has_next ? row + args.qkv_stride : row;
    for (int64_t dim = 0; dim < layout.values_stride; dim += kLanes) {
      const int64_t left = args.head_dim - dim;
      _mm512_store_si512(dst + dim, Interleave(LoadUpTo(row + dim, left),
                                               LoadUpTo(next + dim, has_next ? left : 0)));
    }
  }
}

// Queries [first, first + count) in kVecs vectors of lanes; those past the last repeat it.
struct QueryBlock {
  QueryBlock(const AttentionHeadArgs& args, int64_t first_query, int64_t queries)
      : first(first_query),
        count(queries),
        last(first_query + queries - 1),
        begin(RoundDown(Max(first - args.keys_before, 0), 2)),
        end(RoundUp(Min(last + args.keys_after + 1, args.seq), 2)),
        all_begin(Max(last - args.keys_before, 0)),
        all_end(Min(first + args.keys_after + 1, args.seq)) {}

  int64_t first;
  int64_t count;
  int64_t last;
  // Keys that some query sees, two by two, and those that every query sees; none if all_end <=
  // all_begin.
  int64_t begin;
  int64_t end;
  int64_t all_begin;
  int64_t all_end;
};

// The part of the work that is done for one block of queries.
template <int kVecs>
class Attention {
 public:
  Attention(const AttentionHeadArgs& args, const Layout& layout, const QueryBlock& block)
      : args_(args),
        layout_(layout),
        block_(block),
        queries_(args.scratch + layout.queries),
        scores_(args.scratch + layout.scores),
        weights_(args.scratch + layout.weights),
        results_(args.scratch + layout.results) {}

  void Run() {
    PackQueries();
    Score();
    Softmax();
    if (args_.weights != nullptr) WriteWeights();
    MixValues();
    WriteResults();
  }

 private:
  static constexpr int64_t kStride = kVecs * kLanes;
  static constexpr size_t kRowVecs = kVecs;
  using Sums = __m512[kTile][kRowVecs];

  void PackQueries() {
    constexpr float kLog2E = 1.44269504f;  // the softmax takes powers of two
    const __m512 scale = _mm512_set1_ps(args_.score_scale * kLog2E);
    for (int vec = 0; vec < kVecs; ++vec) {
      for (int64_t word = 0; word < layout_.words_stride; word += kLanes) {
        __m512i rows[kLanes];
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const int64_t query = Min(block_.first + vec * kLanes + lane, block_.last);
          rows[lane] =
              LoadWords(args_.queries + query * args_.qkv_stride, 2 * word, args_.head_dim, scale);
        }
        Transpose(rows);
        for (int64_t i = 0; i < kLanes; ++i) {
          _mm512_store_si512(queries_ + (word + i) * kStride + vec * kLanes, rows[i]);
        }
      }
    }
  }

  // Tiles of results[row][vec] = sum over words of left[row][word] times right[word][vec].
  void MultiplyTile(const float* left, int64_t row_step, int64_t word_step, const float* right,
                    int64_t words, Sums& sums) {
#pragma GCC unroll 8
    for (int row = 0; row < kTile; ++row) {
#pragma GCC unroll 2
      for (int vec = 0; vec < kVecs; ++vec) sums[row][vec] = _mm512_setzero_ps();
    }
    // Unrolled, g++ 12 spills the sums to the stack.
#pragma GCC unroll 1
    for (int64_t word = 0; word < words; ++word) {
      __m512i lanes[kRowVecs];
#pragma GCC unroll 2
      for (int vec = 0; vec < kVecs; ++vec) lanes[vec] = _mm512_load_si512(right + vec * kLanes);
#pragma GCC unroll 8
      for (int row = 0; row < kTile; ++row) {
        const __m512i value = BroadcastWord(left + row * row_step);
#pragma GCC unroll 2
        for (int vec = 0; vec < kVecs; ++vec) {
          sums[row][vec] = AddProducts(sums[row][vec], lanes[vec], value);
        }
      }
      left += word_step;
      right += kStride;
    }
  }

  // scores = the products of queries and keys, and largest_ = each query's largest.
  void Score() {
#pragma GCC unroll 2
    for (int vec = 0; vec < kVecs; ++vec) largest_[vec] = _mm512_set1_ps(-__builtin_inff());
    for (int64_t key = RoundDown(block_.begin, kTile); key < block_.end; key += kTile) {
      Sums sums;
      MultiplyTile(args_.scratch + key * layout_.words_stride, layout_.words_stride, 1, queries_,
                   layout_.words, sums);
      const bool all_seen = block_.all_begin <= key && key + kTile <= block_.all_end;
#pragma GCC unroll 8
      for (int row = 0; row < kTile; ++row) {
#pragma GCC unroll 2
        for (int vec = 0; vec < kVecs; ++vec) {
          __m512 score = sums[row][vec];
          if (!all_seen) score = IfSeen(score, key + row, vec);
          largest_[vec] = _mm512_max_ps(largest_[vec], score);
          _mm512_store_ps(scores_ + (key + row) * kStride + vec * kLanes, score);
        }
      }
    }
  }

  // The scores of a key, -infinity for the queries that do not see it.
  __m512 IfSeen(__m512 scores, int64_t key, int vec) const {
    const __m512 hidden = _mm512_set1_ps(-__builtin_inff());
    if (key >= args_.seq) return hidden;
    const __m512i lane =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(block_.first + vec * kLanes)),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const __m512i query = _mm512_min_epi32(lane, _mm512_set1_epi32(static_cast<int>(block_.last)));
    const __m512i ahead = _mm512_sub_epi32(_mm512_set1_epi32(static_cast<int>(key)), query);
    const __m512i least = _mm512_set1_epi32(static_cast<int>(-args_.keys_before));
    const __m512i most = _mm512_set1_epi32(static_cast<int>(args_.keys_after));
    const auto sees = static_cast<__mmask16>(_mm512_cmple_epi32_mask(least, ahead) &
                                             _mm512_cmple_epi32_mask(ahead, most));
    return _mm512_mask_mov_ps(hidden, sees, scores);
  }

  // weights = 2^(score - the query's largest), in words of two keys; inverse_sums_ = 1 / their sum.
  // Where the caller wants the weights, they also take the scores' place.
  void Softmax() {
    const bool wanted = args_.weights != nullptr;
    for (int vec = 0; vec < kVecs; ++vec) {
      float* const scores = scores_ + vec * kLanes;
      const __m512 largest = largest_[vec];
      __m512 sum = _mm512_setzero_ps();
      for (int64_t key = block_.begin; key < block_.end; key += 2) {
        float* const score = scores + key * kStride;
        const __m512 first = Exp2(_mm512_sub_ps(_mm512_load_ps(score), largest));
        const __m512 second = Exp2(_mm512_sub_ps(_mm512_load_ps(score + kStride), largest));
        sum = _mm512_add_ps(sum, _mm512_add_ps(first, second));
        _mm512_store_si512(weights_ + key / 2 * kStride + vec * kLanes, Interleave(first, second));
        if (!wanted) continue;
        _mm512_store_ps(score, first);
        _mm512_store_ps(score + kStride, second);
      }
      inverse_sums_[vec] = _mm512_div_ps(_mm512_set1_ps(1.0f), sum);
    }
  }

  // Rows of the attention matrix.
  void WriteWeights() {
    for (int64_t i = 0; i < block_.count; ++i) {
      float* row = args_.weights + (block_.first + i) * args_.seq;
      for (int64_t key = 0; key < block_.begin; ++key) row[key] = 0;
      for (int64_t key = block_.end; key < args_.seq; ++key) row[key] = 0;
    }
    for (int vec = 0; vec < kVecs; ++vec) {
      for (int64_t key = block_.begin; key < block_.end; key += kLanes) {
        __m512i columns[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) {
          const float* weight = scores_ + Min(key + i, block_.end - 1) * kStride + vec * kLanes;
          columns[i] =
              _mm512_castps_si512(_mm512_mul_ps(_mm512_load_ps(weight), inverse_sums_[vec]));
        }
        Transpose(columns);
        float* const dst = args_.weights + block_.first * args_.seq + key;
        StoreRows(columns, vec, Min(block_.end, args_.seq) - key, dst, args_.seq);
      }
    }
  }

  // results[dim] = sum over the keys of weight times value, divided by the weights' sum.
  void MixValues() {
    const float* values = args_.scratch + layout_.values + block_.begin / 2 * layout_.values_stride;
    const float* weights = weights_ + block_.begin / 2 * kStride;
    const int64_t words = (block_.end - block_.begin) / 2;
    for (int64_t dim = 0; dim < args_.head_dim; dim += kTile) {
      Sums sums;
      MultiplyTile(values + dim, 1, layout_.values_stride, weights, words, sums);
#pragma GCC unroll 8
      for (int row = 0; row < kTile; ++row) {
#pragma GCC unroll 2
        for (int vec = 0; vec < kVecs; ++vec) {
          _mm512_store_ps(results_ + (dim + row) * kStride + vec * kLanes,
                          _mm512_mul_ps(sums[row][vec], inverse_sums_[vec]));
        }
      }
    }
  }

  void WriteResults() {
    for (int vec = 0; vec < kVecs; ++vec) {
      for (int64_t dim = 0; dim < args_.head_dim; dim += kLanes) {
        __m512i rows[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) {
          rows[i] = _mm512_load_si512(results_ + (dim + i) * kStride + vec * kLanes);
        }
        Transpose(rows);
        float* const dst = args_.dst + block_.first * args_.dst_stride + dim;
        StoreRows(rows, vec, args_.head_dim - dim, dst, args_.dst_stride);
      }
    }
  }

  // The rows of vector `vec`'s queries to dst, which is the block's first query's.
  void StoreRows(const __m512i (&rows)[kLanes], int vec, int64_t cols, float* dst,
                 int64_t stride) const {
    const int64_t first = vec * kLanes;
    for (int64_t lane = 0; lane < Min(kLanes, block_.count - first); ++lane) {
      StoreUpTo(rows[lane], cols, dst + (first + lane) * stride);
    }
  }

  const AttentionHeadArgs& args_;
  const Layout& layout_;
  const QueryBlock& block_;
  float* const queries_;
  float* const scores_;
  float* const weights_;
  float* const results_;
  __m512 largest_[kRowVecs];
  __m512 inverse_sums_[kRowVecs];
};

}  // namespace

size_t AttentionBf16ScratchFloats(int64_t seq, int64_t head_dim) {
  return static_cast<size_t>(Layout(seq, head_dim).size);
}

void AttentionHeadBf16(const AttentionHeadArgs& args) {
  const Layout layout(args.seq, args.head_dim);
  PackKeys(args, layout);
  PackValues(args, layout);
  for (int64_t first = 0; first < args.seq;) {
    const QueryBlock block(args, first, Min(args.seq - first, kMaxVecs * kLanes));
    if (block.count > kLanes) {
      Attention<2>(args, layout, block).Run();
    } else {
      Attention<1>(args, layout, block).Run();
    }
    first += block.count;
  }
}

}  // namespace attune::internal
