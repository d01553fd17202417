#include "engine/interpret/sinusoidal_position.h"

#include <cmath>

namespace attune {

double SinusoidalPosition(int64_t position, int64_t column, int64_t dim) {
  const int64_t even_column = column - column % 2;
  const double exponent = static_cast<double>(even_column) / static_cast<double>(dim);
  const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
  return column == even_column ? std::sin(angle) : std::cos(angle);
}

void AddSinusoidalPositions(MatrixView rows) {
  for (int64_t p = 0; p < rows.rows; ++p) {
    for (int64_t j = 0; j < rows.cols; ++j) {
      float& value = rows.at(p, j);
      value = static_cast<float>(value + SinusoidalPosition(p, j, rows.cols));
    }
  }
}

}  // namespace attune
