// What a caller wants to see of a text's attention, in the engine's words.
#ifndef ATTUNE_ENGINE_INTERPRET_MAP_QUERY_H_
#define ATTUNE_ENGINE_INTERPRET_MAP_QUERY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/ops/pooling.h"

namespace attune {

// Formulas: x_i is a layer's input for token i, A the weights of a head, f_h(x_j) = W_O[h] v_j^h
// what head h would add for token j (value bias in, output bias out), and
// u_ij = sum over heads of A_hij f_h(x_j).
enum class MapMatrix {
  kWeights,           // A
  kRawScores,         // q_i . k_j / sqrt(head_dim)
  kValueNorm,         // A_hij |f_h(x_j)|
  kAttnNorm,          // |u_ij|                            (Kobayashi et al. 2020)
  kResNorm,           // |u_ij + [i = j] x_i|              (Kobayashi et al. 2021)
  kResLnNorm,         // the same after layer normalisation (Kobayashi et al. 2021)
  kRollout,           // B_l ... B_0, B = (mean A + I) / 2 (Abnar & Zuidema 2020)
  kFlow,              // the largest flow through B_l ... B_0 (Abnar & Zuidema 2020)
  kValueZeroing,      // how far x_i's output turns without j's values (Mohebbi et al. 2023)
  kHiddenSimilarity,  // cosine of the hidden states after the layer
  kNone,              // no matrix
};

// "WEIGHTS" and so on, as the contract names it.
absl::string_view MatrixName(MapMatrix matrix);
// One matrix a layer, instead of one a head.
bool MergesHeads(MapMatrix matrix);
// Values below 0, and rows without a meaningful sum.
bool IsSigned(MapMatrix matrix);

enum class MapReduction { kNone, kMean, kMax, kSum, kL2 };
enum class MapLevel { kToken, kWord };
enum class MapSpecials { kKeep, kDrop, kRenormalise };
// Which part of the map of two texts, A and B, that were read together.
enum class MapBlock {
  kAll,
  kAToA,
  kAToB,
  kBToA,
  kBToB,
  kMass,  // 2 x 2: what A and B give A and B, the mean over rows of the sum over columns
};
enum class MapEncoding { kF32, kF16, kU8 };
// Bytes of one value.
int64_t ValueBytes(MapEncoding encoding);

// Numbers begin to end - 1.
struct MapRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  friend bool operator==(const MapRange&, const MapRange&) = default;
};

// Of each row the `top_k` largest values or, where that is 0, the fewest that reach `mass` of its
// sum, at most max_k of them (0: no limit).
struct MapSparsity {
  int64_t top_k = 0;
  float mass = 0;
  int64_t max_k = 0;
};

// Pictures of at most size x size cells, each the mean or the maximum of its part.
struct MapPool {
  static constexpr int64_t kMaxSize = 64;
  int64_t size = 32;
  MapReduction reduction = MapReduction::kMax;
};

// The steps are taken in the order of the fields from `matrix` on.
struct MapQuery {
  std::vector<int64_t> layers;  // chosen numbers, ascending
  std::vector<int64_t> heads;
  bool every_head = true;  // `heads` are all there are

  bool statistics = false;
  bool mixing_ratio = false;
  MapMatrix matrix = MapMatrix::kWeights;
  MapReduction head_reduction = MapReduction::kNone;
  MapReduction layer_reduction = MapReduction::kNone;
  MapLevel level = MapLevel::kToken;
  // One row in place of all: the mix of rows that this pooling makes of token vectors.
  std::optional<PoolingMode> pooled_queries;
  MapSpecials specials = MapSpecials::kKeep;
  bool keep_special_queries = false;  // `specials` speaks of keys only
  MapBlock block = MapBlock::kAll;
  std::optional<MapRange> query_range;
  std::optional<MapRange> key_range;
  std::optional<MapPool> pool;
  std::optional<MapSparsity> sparsity;
  MapEncoding encoding = MapEncoding::kF32;
};

// Whether the choices mean something together. kInvalidArgument names the fields, as
// `query.<field>`, and their values. What depends on the text is MakeMapPlan's to check.
absl::Status ValidateMapQuery(const MapQuery& query);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_MAP_QUERY_H_
