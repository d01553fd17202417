#include "engine/interpret/hidden_similarity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/interpret/matrix_product.h"

namespace attune {

Matrix HiddenSimilarity(ConstMatrixView hidden) {
  Matrix directions(hidden.rows, hidden.cols);
  for (int64_t i = 0; i < hidden.rows; ++i) {
    double squares = 0;
    for (const float value : hidden.row(i)) squares += double{value} * double{value};
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    std::transform(hidden.row(i).begin(), hidden.row(i).end(), directions.row(i).begin(),
                   [scale](float value) { return static_cast<float>(double{value} * scale); });
  }
  Matrix cosines(hidden.rows, hidden.rows);
  Multiply(directions.view(), Transpose(directions.view()).view(), 1, cosines.view());
  return cosines;
}

}  // namespace attune
