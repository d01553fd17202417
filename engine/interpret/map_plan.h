// A MapQuery applied to one text: which rows and columns are left, and what they take.
#ifndef ATTUNE_ENGINE_INTERPRET_MAP_PLAN_H_
#define ATTUNE_ENGINE_INTERPRET_MAP_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/interpret/map_query.h"
#include "engine/interpret/token_roles.h"

namespace attune {

// A text as maps see it.
struct MapText {
  int64_t seq = 0;
  std::vector<bool> special;    // [seq]: added by the template
  int64_t second_begin = 0;     // the first token of a pair's second text; seq if there is one text
  std::vector<MapRange> words;  // runs of tokens that make up the text; read at the WORD level
  TokenRoles roles;
};

// What a map of `query` over a text is made of and how large it is. A unit is a token, at the WORD
// level a word, and for block MASS each of the two texts.
struct MapPlan {
  MapQuery query;
  MapText text;
  int64_t layers = 0;  // matrices in the result: after the reductions
  int64_t heads = 0;
  std::vector<MapRange> units;   // the tokens of each unit
  std::vector<int64_t> queries;  // units that are rows; empty with pooled_queries
  std::vector<int64_t> keys;     // units that are columns
  // The same before block and key_range: what RENORMALISE divides by.
  std::vector<int64_t> unsliced_keys;
  std::vector<double> pooled_weights;  // [seq] with pooled_queries: the share of each row

  // Of one matrix, before `pool`.
  int64_t rows() const;
  int64_t columns() const { return static_cast<int64_t>(keys.size()); }
  // layers, heads, rows, columns of the result, after `pool`; all 0 for kNone.
  std::array<int64_t, 4> shape() const;
  // Most cells of a row of the result: fewer than its columns with sparsity.
  int64_t row_cells() const;
  // Whether a row loses a part that `kept_mass` tells.
  bool has_kept_mass() const;

  // An upper bound of the bytes that the result's arrays take. Saturates at INT64_MAX.
  int64_t ResultBytes() const;
  // About what making it takes besides, for a model of so many heads. Saturates likewise.
  int64_t WorkingBytes(int64_t model_heads, int64_t hidden) const;
};

// kInvalidArgument for a range beyond the text's units, a block of a single text, and for a text of
// too many columns for sparsity's 2-byte numbers or too many tokens for the matrix; it names the
// field, the value and the limit. REQUIRES: ValidateMapQuery(query) is OK.
absl::StatusOr<MapPlan> MakeMapPlan(MapQuery query, MapText text);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_MAP_PLAN_H_
