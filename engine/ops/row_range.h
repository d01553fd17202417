#ifndef ATTUNE_ENGINE_OPS_ROW_RANGE_H_
#define ATTUNE_ENGINE_OPS_ROW_RANGE_H_

namespace attune {

// What the u8 values of one row stand for: low + step * u, where low is the row's least value.
struct RowRange {
  float low = 0;
  float step = 0;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_ROW_RANGE_H_
