#include "engine/interpret/head_vectors.h"

#include <algorithm>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/interpret/matrix_product.h"
#include "engine/ops/linear_input.h"

namespace attune {
namespace {

// The length of the unit vectors: exact in every precision, and large, so that rounding the sum
// with the bias takes little from the weights.
constexpr float kUnit = 4096;

// Unit vectors that are projected at a time.
constexpr int64_t kUnitBlock = 64;
static_assert(kUnitBlock % Linear::kRowGroup == 0);

// dst[rows, hidden] = W_O src + b_O
absl::Status Project(const AttentionStep& step, ConstMatrixView src, LinearInput& scratch,
                     MatrixView dst) {
  const LinearInputView input = scratch.view().Rows(0, src.rows);
  PackLinearInput(src, input);
  return step.output.Run(step.context, input, dst);
}

}  // namespace

absl::StatusOr<OutputWeights> ReadOutputWeights(const AttentionStep& step) {
  const int64_t hidden = step.output.in();
  OutputWeights weights{Matrix(Linear::PaddedRows(hidden), hidden),
                        Matrix(Linear::kRowGroup, hidden)};
  LinearInput scratch(step.output.precision(), kUnitBlock, hidden);
  const Matrix zeros(Linear::kRowGroup, hidden);
  ATTUNE_RETURN_IF_ERROR(Project(step, zeros.view(), scratch, weights.bias.view()));
  Matrix units(kUnitBlock, hidden);
  for (int64_t begin = 0; begin < hidden; begin += kUnitBlock) {
    const int64_t end = std::min(begin + kUnitBlock, hidden);
    std::fill(units.span().begin(), units.span().end(), 0.0f);
    for (int64_t i = begin; i < end; ++i) units.view().at(i - begin, i) = kUnit;
    const MatrixView columns = weights.columns.view().Rows(begin, end);
    ATTUNE_RETURN_IF_ERROR(Project(step, units.view().Rows(0, end - begin), scratch, columns));
    for (int64_t i = 0; i < columns.rows; ++i) {
      const absl::Span<float> column = columns.row(i);
      std::transform(column.begin(), column.end(), weights.bias.row(0).begin(), column.begin(),
                     [](float value, float bias) { return (value - bias) / kUnit; });
    }
  }
  return weights;
}

HeadVectors::HeadVectors(const AttentionStep& step, int64_t heads)
    : step_(&step),
      head_dim_(step.input.cols / heads),
      values_(Linear::PaddedRows(kMaxTokens), head_dim_) {}

absl::StatusOr<HeadVectors> HeadVectors::Create(const AttentionStep& step, int64_t heads,
                                                const Matrix& columns) {
  HeadVectors vectors(step, heads);
  const Matrix no_bias(1, step.input.cols);
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t first = head * vectors.head_dim_;
    const Matrix weights = Transpose(columns.view().Rows(first, first + vectors.head_dim_));
    ATTUNE_ASSIGN_OR_RETURN(auto projection, Linear::Create(weights.view(), no_bias.span(), {}));
    vectors.projections_.push_back(std::move(projection));
    vectors.vectors_.emplace_back(Linear::PaddedRows(kMaxTokens), step.input.cols);
  }
  return vectors;
}

absl::Status HeadVectors::Load(int64_t begin, int64_t end) {
  begin_ = begin;
  const int64_t count = end - begin;
  const int64_t value_column = 2 * step_->input.cols;
  for (size_t head = 0; head < projections_.size(); ++head) {
    const int64_t column = value_column + static_cast<int64_t>(head) * head_dim_;
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(step_->qkv.row(begin + i).data() + column, head_dim_, values_.row(i).data());
    }
    ATTUNE_RETURN_IF_ERROR(projections_[head]->Run(step_->context,
                                                   LinearInputView(values_.view().Rows(0, count)),
                                                   vectors_[head].view().Rows(0, count)));
  }
  return absl::OkStatus();
}

absl::Span<const float> HeadVectors::Of(int64_t head, int64_t token) const {
  return vectors_[static_cast<size_t>(head)].row(token - begin_);
}

}  // namespace attune
