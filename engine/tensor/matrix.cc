#include "engine/tensor/matrix.h"

#include "engine/base/check.h"

namespace attune {
namespace {

size_t CheckedBytes(int64_t rows, int64_t cols) {
  int64_t elements = 0;
  int64_t bytes = 0;
  ATTUNE_CHECK(rows >= 0 && cols >= 0);
  ATTUNE_CHECK(!__builtin_mul_overflow(rows, cols, &elements));
  ATTUNE_CHECK(!__builtin_mul_overflow(elements, int64_t{sizeof(float)}, &bytes));
  return static_cast<size_t>(bytes);
}

}  // namespace

Matrix::Matrix(int64_t rows, int64_t cols)
    : rows_(rows), cols_(cols), buffer_(CheckedBytes(rows, cols)) {}

}  // namespace attune
