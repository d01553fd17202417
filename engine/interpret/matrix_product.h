// The matrix product of the interpretation code: exact sums before speed.
#ifndef ATTUNE_ENGINE_INTERPRET_MATRIX_PRODUCT_H_
#define ATTUNE_ENGINE_INTERPRET_MATRIX_PRODUCT_H_

#include "engine/tensor/matrix.h"

namespace attune {

// dst[n, m] = scale * (left[n, k] * right[k, m]), f32. Each element is summed in f64 in ascending
// order of k and rounded once, so it depends on its own row and column only, bit for bit. A sum
// that f32 cannot hold becomes an infinity. REQUIRES: the shapes agree; dst overlaps neither
// operand.
void Multiply(ConstMatrixView left, ConstMatrixView right, double scale, MatrixView dst);

// transpose(src).
Matrix Transpose(ConstMatrixView src);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_MATRIX_PRODUCT_H_
