#include "engine/interpret/map_plan.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "engine/interpret/attention_flow.h"
#include "engine/interpret/value_zeroing.h"

namespace attune {
namespace {

constexpr int64_t kMaxSparseColumns = 65535;

// Upper bound of what the statistics of one head take.
constexpr int64_t kStatisticsBytes = 192;

// Products and sums that saturate.
class Bytes {
 public:
  static int64_t Product(std::initializer_list<int64_t> factors) {
    int64_t product = 1;
    for (const int64_t factor : factors) {
      if (__builtin_mul_overflow(product, factor, &product)) return kMost;
    }
    return product;
  }
  void Add(int64_t bytes) {
    if (__builtin_add_overflow(total_, bytes, &total_)) total_ = kMost;
  }
  int64_t total() const { return total_; }

 private:
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t total_ = 0;
};

std::vector<MapRange> UnitsOf(const MapQuery& query, const MapText& text) {
  if (query.level == MapLevel::kWord) return text.words;
  if (query.block == MapBlock::kMass) {
    return {{0, text.second_begin}, {text.second_begin, text.seq}};
  }
  std::vector<MapRange> units;
  units.reserve(static_cast<size_t>(text.seq));
  for (int64_t i = 0; i < text.seq; ++i) units.push_back({i, i + 1});
  return units;
}

// The units that are no special tokens; all of them with `keep_specials`.
std::vector<int64_t> KeptUnits(const std::vector<MapRange>& units, const MapText& text,
                               bool keep_specials) {
  std::vector<int64_t> kept;
  for (size_t unit = 0; unit < units.size(); ++unit) {
    if (!keep_specials && text.special[static_cast<size_t>(units[unit].begin)]) continue;
    kept.push_back(static_cast<int64_t>(unit));
  }
  return kept;
}

// Whether rows, and whether columns, are those of the second text; nothing where both texts' are.
struct BlockSides {
  std::optional<bool> second_queries;
  std::optional<bool> second_keys;
};
BlockSides SidesOf(MapBlock block) {
  switch (block) {
    case MapBlock::kAToA:
      return {false, false};
    case MapBlock::kAToB:
      return {false, true};
    case MapBlock::kBToA:
      return {true, false};
    case MapBlock::kBToB:
      return {true, true};
    case MapBlock::kAll:
    case MapBlock::kMass:
      break;
  }
  return {};
}

std::vector<int64_t> OfSide(std::optional<bool> second, const MapPlan& plan,
                            std::vector<int64_t> kept) {
  if (!second.has_value()) return kept;
  std::vector<int64_t> side;
  std::copy_if(kept.begin(), kept.end(), std::back_inserter(side), [&](int64_t unit) {
    const bool is_second = plan.units[static_cast<size_t>(unit)].begin >= plan.text.second_begin;
    return is_second == *second;
  });
  return side;
}

absl::StatusOr<std::vector<int64_t>> Slice(absl::string_view field,
                                           const std::optional<MapRange>& range,
                                           std::vector<int64_t> units, int64_t unit_count) {
  if (!range.has_value()) return units;
  if (range->end > unit_count) {
    return FieldError(field, " is [", range->begin, ", ", range->end, "); the map has ", unit_count,
                      " rows and columns");
  }
  std::vector<int64_t> inside;
  std::copy_if(units.begin(), units.end(), std::back_inserter(inside),
               [&range](int64_t unit) { return unit >= range->begin && unit < range->end; });
  return inside;
}

// The share of each token's row in the pooled row.
std::vector<double> PooledWeights(PoolingMode mode, int64_t seq) {
  std::vector<double> weights(static_cast<size_t>(seq), 0.0);
  switch (mode) {
    case PoolingMode::kCls:
      weights.front() = 1;
      break;
    case PoolingMode::kLastToken:
      weights.back() = 1;
      break;
    case PoolingMode::kWeightedMean:
      std::iota(weights.begin(), weights.end(), 1.0);
      break;
    case PoolingMode::kMax:  // refused by ValidateMapQuery
    case PoolingMode::kMean:
    case PoolingMode::kMeanSqrtLen:
      std::fill(weights.begin(), weights.end(), 1.0);
      break;
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// What is too dear for a long text.
absl::Status CheckLength(MapMatrix matrix, int64_t seq) {
  int64_t most = 0;
  switch (matrix) {
    case MapMatrix::kFlow:
      most = AttentionFlow::kMaxTokens;
      break;
    case MapMatrix::kValueZeroing:
      most = kMaxValueZeroingTokens;
      break;
    default:
      return absl::OkStatus();
  }
  if (seq <= most) return absl::OkStatus();
  return FieldError("query.matrix", " ", MatrixName(matrix), " takes texts of at most ", most,
                    " tokens; this one has ", seq);
}

}  // namespace

int64_t MapPlan::rows() const {
  return query.pooled_queries.has_value() ? 1 : static_cast<int64_t>(queries.size());
}

std::array<int64_t, 4> MapPlan::shape() const {
  if (query.matrix == MapMatrix::kNone) return {};
  const int64_t most = query.pool.has_value() ? query.pool->size : text.seq;
  return {layers, heads, std::min(rows(), most), std::min(columns(), most)};
}

int64_t MapPlan::row_cells() const {
  const int64_t row = shape()[3];
  if (!query.sparsity.has_value()) return row;
  const int64_t most = query.sparsity->top_k > 0 ? query.sparsity->top_k : query.sparsity->max_k;
  return most > 0 ? std::min(most, row) : row;
}

bool MapPlan::has_kept_mass() const {
  if (IsSigned(query.matrix) || query.matrix == MapMatrix::kNone || query.pool.has_value()) {
    return false;
  }
  return query.sparsity.has_value() || query.key_range.has_value() ||
         query.specials != MapSpecials::kKeep || SidesOf(query.block).second_keys.has_value();
}

int64_t MapPlan::ResultBytes() const {
  const std::array<int64_t, 4> axes = shape();
  const int64_t result_rows = Bytes::Product({axes[0], axes[1], axes[2]});
  Bytes bytes;
  int64_t cell = ValueBytes(query.encoding);
  int64_t row = 0;
  if (query.encoding == MapEncoding::kU8) row += 4;  // its scale
  if (has_kept_mass()) row += 4;
  if (query.sparsity.has_value()) {
    row += 2;   // its length
    cell += 2;  // its column
  }
  bytes.Add(Bytes::Product({result_rows, row_cells(), cell}));
  bytes.Add(Bytes::Product({result_rows, row}));
  // Numbers of rows and columns, as varints: 3 bytes reach over 2 million.
  bytes.Add(Bytes::Product({3, static_cast<int64_t>(queries.size() + keys.size())}));
  const auto chosen_layers = static_cast<int64_t>(query.layers.size());
  if (query.mixing_ratio) bytes.Add(Bytes::Product({chosen_layers, text.seq, 4}));
  if (query.statistics) {
    bytes.Add(Bytes::Product(
        {chosen_layers, static_cast<int64_t>(query.heads.size()), kStatisticsBytes}));
  }
  return bytes.total();
}

int64_t MapPlan::WorkingBytes(int64_t model_heads, int64_t hidden) const {
  // The weights of one layer, and a few matrices that they are turned into.
  constexpr int64_t kMatrices = 6;
  Bytes bytes;
  bytes.Add(Bytes::Product({model_heads + kMatrices, text.seq, text.seq, 4}));
  if (query.layer_reduction != MapReduction::kNone) {
    bytes.Add(Bytes::Product({heads, text.seq, text.seq, 4}));
  }
  bytes.Add(Bytes::Product({4, text.seq, hidden, 4}));
  return bytes.total();
}

absl::StatusOr<MapPlan> MakeMapPlan(MapQuery query, MapText text) {
  MapPlan plan;
  plan.query = std::move(query);
  plan.text = std::move(text);
  const MapQuery& wanted = plan.query;
  ATTUNE_RETURN_IF_ERROR(CheckLength(wanted.matrix, plan.text.seq));
  plan.layers = wanted.layer_reduction == MapReduction::kNone
                    ? static_cast<int64_t>(wanted.layers.size())
                    : 1;
  const bool one_map = MergesHeads(wanted.matrix) || wanted.head_reduction != MapReduction::kNone;
  plan.heads = one_map ? 1 : static_cast<int64_t>(wanted.heads.size());
  if (wanted.matrix == MapMatrix::kNone) return plan;

  if (wanted.block != MapBlock::kAll && plan.text.second_begin >= plan.text.seq) {
    return FieldError("query.block", " needs query.text_pair; there is one text");
  }
  const BlockSides sides = SidesOf(wanted.block);
  plan.units = UnitsOf(wanted, plan.text);
  const auto unit_count = static_cast<int64_t>(plan.units.size());
  const bool keep = wanted.specials == MapSpecials::kKeep;
  plan.unsliced_keys = KeptUnits(plan.units, plan.text, keep);
  ATTUNE_ASSIGN_OR_RETURN(plan.keys,
                          Slice("query.key_range", wanted.key_range,
                                OfSide(sides.second_keys, plan, plan.unsliced_keys), unit_count));
  if (wanted.pooled_queries.has_value()) {
    plan.pooled_weights = PooledWeights(*wanted.pooled_queries, plan.text.seq);
  } else {
    ATTUNE_ASSIGN_OR_RETURN(
        plan.queries,
        Slice("query.query_range", wanted.query_range,
              OfSide(sides.second_queries, plan,
                     KeptUnits(plan.units, plan.text, keep || wanted.keep_special_queries)),
              unit_count));
  }
  if (wanted.sparsity.has_value() && plan.columns() > kMaxSparseColumns) {
    return FieldError("query.sparsity", " takes at most ", kMaxSparseColumns,
                      " columns; the map has ", plan.columns());
  }
  return plan;
}

}  // namespace attune
