// From the matrix of a head to the rows and columns that a caller asked for.
#ifndef ATTUNE_ENGINE_INTERPRET_MAP_ROWS_H_
#define ATTUNE_ENGINE_INTERPRET_MAP_ROWS_H_

#include <vector>

#include "engine/interpret/map_plan.h"
#include "engine/tensor/matrix.h"

namespace attune {

struct MapRows {
  Matrix values;                 // [plan.rows(), plan.columns()]
  std::vector<float> kept_mass;  // [rows]: the share of each whole row's sum that values still have
};

// Words, pooled queries, special tokens and ranges, in this order, of `map` [seq, seq]. To a word
// is the sum of its columns, from a word the mean of its rows (Clark et al. 2019, section 4.1).
// Values that no step touches keep their bits. Thread-safe.
MapRows SelectMapRows(const MapPlan& plan, ConstMatrixView map);

// Pools `map` to at most plan.query.pool->size rows and columns: cell (r, c) is the mean or maximum
// of rows [r * rows / size, (r + 1) * rows / size) and the columns alike.
Matrix PoolMap(const MapPool& pool, ConstMatrixView map);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_MAP_ROWS_H_
