#ifndef ATTUNE_ENGINE_INTERPRET_HEAD_REDUCTION_H_
#define ATTUNE_ENGINE_INTERPRET_HEAD_REDUCTION_H_

#include "absl/types/span.h"
#include "engine/interpret/map_query.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Cell by cell the mean, maximum, sum or root of the sum of squares of `maps`, all of one shape;
// f32, in their order. REQUIRES: reduction is not kNone; there is at least one map.
Matrix ReduceHeads(MapReduction reduction, absl::Span<const ConstMatrixView> maps);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_HEAD_REDUCTION_H_
