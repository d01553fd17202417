// Sinusoidal position vectors (Vaswani et al. 2017, section 3.5).
#ifndef ATTUNE_ENGINE_INTERPRET_SINUSOIDAL_POSITION_H_
#define ATTUNE_ENGINE_INTERPRET_SINUSOIDAL_POSITION_H_

#include <cstdint>

#include "engine/tensor/matrix.h"

namespace attune {

// PE[position, column] for vectors of `dim` elements:
//   PE[p, 2i] = sin(p / 10000^(2i / dim)), PE[p, 2i + 1] = cos of the same angle.
// The exponent counts pairs of columns, not columns: both columns of a pair turn at one speed. With
// an odd dim the last column is a sine without its cosine.
double SinusoidalPosition(int64_t position, int64_t column, int64_t dim);

// rows[seq, dim] += PE: row p is position p, from 0. f32; each sum is made in f64.
void AddSinusoidalPositions(MatrixView rows);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_SINUSOIDAL_POSITION_H_
