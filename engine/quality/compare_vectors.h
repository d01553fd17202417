// How far vectors computed one way are from the same texts' vectors computed another way.
#ifndef ATTUNE_ENGINE_QUALITY_COMPARE_VECTORS_H_
#define ATTUNE_ENGINE_QUALITY_COMPARE_VECTORS_H_

#include <cstdint>

#include "engine/base/json.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Vectors against reference vectors of the same texts.
struct QualityFigures {
  int64_t texts = 0;
  // Cosine of each vector with its reference: 1 is the same direction.
  double mean_cosine = 0;
  double min_cosine = 0;
  // The largest absolute difference of any value.
  double max_difference = 0;
  // What a search would notice: for each text, the share of its `neighbours` nearest other texts
  // (by cosine) that are also the reference's nearest, in any order.
  int64_t neighbours = 0;
  double mean_overlap = 0;
  double worst_overlap = 0;

  friend bool operator==(const QualityFigures&, const QualityFigures&) = default;
};

// Each figure under its own name.
Json FiguresToJson(const QualityFigures& figures);

// Nearest texts that are compared, where there are so many others.
inline constexpr int64_t kComparedNeighbours = 10;

// reference and candidate [texts, dimension], row i of both being text i. Sums are double. A vector
// that is zero has cosine 0 with every other (1 with another zero). Quadratic in the number of
// texts. REQUIRES: the same shape, at least two rows, finite values.
QualityFigures CompareVectors(ConstMatrixView reference, ConstMatrixView candidate);

}  // namespace attune

#endif  // ATTUNE_ENGINE_QUALITY_COMPARE_VECTORS_H_
