// Row-major f32 matrices: Matrix owns, MatrixView and ConstMatrixView borrow.
#ifndef ATTUNE_ENGINE_TENSOR_MATRIX_H_
#define ATTUNE_ENGINE_TENSOR_MATRIX_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "engine/base/aligned_buffer.h"

namespace attune {

// A borrowed, read-only matrix [rows, cols]. Row i starts at data + i * stride, stride >= cols,
// both in elements. A view never outlives the call it is passed to.
struct ConstMatrixView {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  ConstMatrixView() = default;
  ConstMatrixView(const float* data_in, int64_t rows_in, int64_t cols_in)
      : ConstMatrixView(data_in, rows_in, cols_in, cols_in) {}
  ConstMatrixView(const float* data_in, int64_t rows_in, int64_t cols_in, int64_t stride_in)
      : data(data_in), rows(rows_in), cols(cols_in), stride(stride_in) {}

  absl::Span<const float> row(int64_t i) const {
    return {data + i * stride, static_cast<size_t>(cols)};
  }
  float at(int64_t i, int64_t j) const { return data[i * stride + j]; }
  // Rows [begin, end).
  ConstMatrixView Rows(int64_t begin, int64_t end) const {
    return {data + begin * stride, end - begin, cols, stride};
  }
  // Columns [begin, end).
  ConstMatrixView Cols(int64_t begin, int64_t end) const {
    return {data + begin, rows, end - begin, stride};
  }
};

// The same, writable.
struct MatrixView {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  MatrixView() = default;
  MatrixView(float* data_in, int64_t rows_in, int64_t cols_in)
      : MatrixView(data_in, rows_in, cols_in, cols_in) {}
  MatrixView(float* data_in, int64_t rows_in, int64_t cols_in, int64_t stride_in)
      : data(data_in), rows(rows_in), cols(cols_in), stride(stride_in) {}

  operator ConstMatrixView() const {  // NOLINT(google-explicit-constructor): as T* to const T*
    return {data, rows, cols, stride};
  }
  absl::Span<float> row(int64_t i) const { return {data + i * stride, static_cast<size_t>(cols)}; }
  float& at(int64_t i, int64_t j) const { return data[i * stride + j]; }
  MatrixView Rows(int64_t begin, int64_t end) const {
    return {data + begin * stride, end - begin, cols, stride};
  }
  MatrixView Cols(int64_t begin, int64_t end) const {
    return {data + begin, rows, end - begin, stride};
  }
};

// A matrix that owns zeroed, 64-byte aligned, dense memory. Move-only. Thread-compatible.
class Matrix {
 public:
  Matrix() = default;
  // REQUIRES: rows >= 0, cols >= 0 and rows * cols * 4 fits in int64 (checked).
  Matrix(int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  float* data() { return buffer_.floats(); }
  const float* data() const { return buffer_.floats(); }
  MatrixView view() { return {data(), rows_, cols_}; }
  ConstMatrixView view() const { return {data(), rows_, cols_}; }
  absl::Span<float> row(int64_t i) { return view().row(i); }
  absl::Span<const float> row(int64_t i) const { return view().row(i); }
  absl::Span<float> span() { return {data(), static_cast<size_t>(rows_ * cols_)}; }
  absl::Span<const float> span() const { return {data(), static_cast<size_t>(rows_ * cols_)}; }

 private:
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  AlignedBuffer buffer_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TENSOR_MATRIX_H_
