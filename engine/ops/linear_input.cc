#include "engine/ops/linear_input.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/ops/kernels/kernels.h"

namespace attune {

int64_t ElementBytes(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return 4;
    case Precision::kBf16:
      return 2;
    case Precision::kInt8:
      return 1;
  }
  ATTUNE_CHECK(false);
  return 0;
}

LinearInputView::LinearInputView(MatrixView view)
    : data(reinterpret_cast<std::byte*>(view.data)), rows(view.rows), cols(view.cols) {
  ATTUNE_CHECK(view.stride == view.cols);
}

LinearInputView LinearInputView::Rows(int64_t begin, int64_t end) const {
  LinearInputView part = *this;
  part.data += begin * cols * ElementBytes(precision);
  if (ranges != nullptr) part.ranges += begin;
  part.rows = end - begin;
  return part;
}

LinearInput::LinearInput(Precision precision, int64_t rows, int64_t cols)
    : data_(static_cast<size_t>(rows * cols * ElementBytes(precision))) {
  view_.precision = precision;
  view_.data = data_.data();
  view_.rows = rows;
  view_.cols = cols;
  if (precision == Precision::kInt8) {
    ranges_ = AlignedBuffer(static_cast<size_t>(rows) * sizeof(RowRange));
    view_.ranges = reinterpret_cast<RowRange*>(ranges_.data());
  }
}

void PackLinearInput(ConstMatrixView src, LinearInputView dst) {
  ATTUNE_CHECK(src.rows == dst.rows && src.cols == dst.cols);
  const internal::Kernels& kernels = internal::BestKernels();
  const auto cols = static_cast<size_t>(src.cols);
  if (dst.precision == Precision::kF32 && dst.floats() == src.data) return;
  for (int64_t i = 0; i < src.rows; ++i) {
    const float* row = src.row(i).data();
    switch (dst.precision) {
      case Precision::kF32:
        std::copy_n(row, src.cols, dst.floats() + i * src.cols);
        break;
      case Precision::kBf16:
        kernels.pack_bf16(row, cols, dst.bf16() + i * src.cols);
        break;
      case Precision::kInt8:
        dst.ranges[i] = kernels.pack_u8(row, cols, dst.u8() + i * src.cols);
        break;
    }
  }
}

}  // namespace attune
