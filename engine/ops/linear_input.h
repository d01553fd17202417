// Activations in the form the matrix product of a linear layer reads.
#ifndef ATTUNE_ENGINE_OPS_LINEAR_INPUT_H_
#define ATTUNE_ENGINE_OPS_LINEAR_INPUT_H_

#include <cstddef>
#include <cstdint>

#include "engine/base/aligned_buffer.h"
#include "engine/ops/precision.h"
#include "engine/ops/row_range.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Borrowed, dense rows [rows, cols]:
//   kF32   float
//   kBf16  uint16_t, bfloat16
//   kInt8  uint8_t, 256 even steps from the least to the largest value of its row
struct LinearInputView {
  Precision precision = Precision::kF32;
  std::byte* data = nullptr;
  RowRange* ranges = nullptr;  // [rows] for kInt8, else null
  int64_t rows = 0;
  int64_t cols = 0;

  LinearInputView() = default;
  // Dense f32 rows as they are. REQUIRES: view.stride == view.cols.
  explicit LinearInputView(MatrixView view);

  float* floats() const { return reinterpret_cast<float*>(data); }
  uint16_t* bf16() const { return reinterpret_cast<uint16_t*>(data); }
  uint8_t* u8() const { return reinterpret_cast<uint8_t*>(data); }
  // Rows [begin, end).
  LinearInputView Rows(int64_t begin, int64_t end) const;
};

// Bytes of one element.
int64_t ElementBytes(Precision precision);

// Owns the memory of up to `rows` rows; zeroed. Move-only. Thread-compatible.
class LinearInput {
 public:
  LinearInput() = default;
  LinearInput(Precision precision, int64_t rows, int64_t cols);

  int64_t rows() const { return view_.rows; }
  LinearInputView view() { return view_; }

 private:
  AlignedBuffer data_;
  AlignedBuffer ranges_;
  LinearInputView view_;
};

// dst = src, rounded to nearest even as dst.precision asks, each row by itself. A NaN or infinity
// stays one in bf16 and makes an int8 row's range NaN, so that it reaches the check at the end of a
// pass.
// REQUIRES: same shape. A dst that is src itself (kF32) costs nothing.
void PackLinearInput(ConstMatrixView src, LinearInputView dst);

}  // namespace attune

#endif  // ATTUNE_ENGINE_OPS_LINEAR_INPUT_H_
