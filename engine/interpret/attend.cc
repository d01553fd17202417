#include "engine/interpret/attend.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "engine/interpret/attend_mask.h"
#include "engine/interpret/attend_score.h"
#include "engine/interpret/matrix_product.h"
#include "engine/interpret/sinusoidal_position.h"
#include "engine/tensor/finite.h"

namespace attune {
namespace {

// Rows computed between two looks at `should_stop`.
constexpr int64_t kBlockRows = 32;

using StopFunction = std::function<bool()>;

absl::Status CheckStop(const StopFunction& should_stop) {
  if (should_stop && should_stop()) return absl::CancelledError("attend was stopped");
  return absl::OkStatus();
}

absl::Status CheckFits(absl::string_view step, ConstMatrixView rows) {
  for (int64_t i = 0; i < rows.rows; ++i) {
    if (AllFinite(rows.row(i))) continue;
    return FieldError("vectors", " give ", step, " beyond the range of f32 (3.4e38) in row ", i,
                      "; scale the vectors or the matrices down");
  }
  return absl::OkStatus();
}

Matrix CopyOf(const Matrix& src) {
  Matrix dst(src.rows(), src.cols());
  std::copy(src.span().begin(), src.span().end(), dst.span().begin());
  return dst;
}

// src * projection; `src` itself where the projection is absent.
absl::StatusOr<Matrix> Project(absl::string_view step, const Matrix& src, const Matrix& projection,
                               const StopFunction& should_stop) {
  if (projection.rows() == 0) return CopyOf(src);
  Matrix dst(src.rows(), projection.cols());
  for (int64_t row = 0; row < dst.rows(); row += kBlockRows) {
    ATTUNE_RETURN_IF_ERROR(CheckStop(should_stop));
    const int64_t end = std::min(row + kBlockRows, dst.rows());
    Multiply(src.view().Rows(row, end), projection.view(), 1, dst.view().Rows(row, end));
  }
  ATTUNE_RETURN_IF_ERROR(CheckFits(step, dst.view()));
  return dst;
}

// One head's columns of a [seq, heads * width] matrix.
ConstMatrixView HeadColumns(const Matrix& matrix, int64_t head, int64_t heads) {
  const int64_t width = matrix.cols() / heads;
  return matrix.view().Cols(head * width, (head + 1) * width);
}

// One head's rows of a [heads * seq, seq] matrix.
MatrixView HeadRows(Matrix& matrix, int64_t head) {
  const int64_t seq = matrix.cols();
  return matrix.view().Rows(head * seq, (head + 1) * seq);
}

// Fills one head's rows of result.scores and result.weights.
absl::Status WeighKeys(const AttendInput& input, const VisibleKeys& visible, int64_t head,
                       const StopFunction& should_stop, AttendResult& result) {
  const ConstMatrixView queries = HeadColumns(result.queries, head, input.heads);
  const Matrix keys_transposed = Transpose(HeadColumns(result.keys, head, input.heads));
  absl::Span<const float> additive_vector;
  if (input.score == AttendScore::kAdditive) {
    additive_vector = HeadColumns(input.additive_vector, head, input.heads).row(0);
  }
  const MatrixView scores = HeadRows(result.scores, head);
  const MatrixView weights = HeadRows(result.weights, head);
  for (int64_t row = 0; row < queries.rows; row += kBlockRows) {
    ATTUNE_RETURN_IF_ERROR(CheckStop(should_stop));
    const int64_t end = std::min(row + kBlockRows, queries.rows);
    ScoreQueries(input.score, queries.Rows(row, end), keys_transposed.view(), additive_vector,
                 scores.Rows(row, end));
    ATTUNE_RETURN_IF_ERROR(CheckFits("scores", scores.Rows(row, end)));
    for (int64_t query = row; query < end; ++query) {
      NormalizeScores(input.normalizer, scores.row(query), visible.Of(query), weights.row(query));
    }
  }
  return absl::OkStatus();
}

// The weighted sums of one head's values, into its columns of `outputs`.
absl::Status MixValues(int64_t head, int64_t heads, const StopFunction& should_stop,
                       AttendResult& result) {
  const ConstMatrixView weights = HeadRows(result.weights, head);
  const ConstMatrixView values = HeadColumns(result.values, head, heads);
  const MatrixView outputs =
      result.outputs.view().Cols(head * values.cols, (head + 1) * values.cols);
  for (int64_t row = 0; row < weights.rows; row += kBlockRows) {
    ATTUNE_RETURN_IF_ERROR(CheckStop(should_stop));
    const int64_t end = std::min(row + kBlockRows, weights.rows);
    Multiply(weights.Rows(row, end), values, 1, outputs.Rows(row, end));
  }
  return CheckFits("outputs", outputs);
}

absl::Status MakeWeights(const AttendInput& input, const StopFunction& should_stop,
                         AttendResult& result) {
  if (input.given_weights.rows() > 0) {
    result.weights = CopyOf(input.given_weights);
    return absl::OkStatus();
  }
  const int64_t seq = input.vectors.rows();
  const VisibleKeys visible(input.mask, seq);
  result.scores = Matrix(input.heads * seq, seq);
  result.weights = Matrix(input.heads * seq, seq);
  for (int64_t head = 0; head < input.heads; ++head) {
    ATTUNE_RETURN_IF_ERROR(WeighKeys(input, visible, head, should_stop, result));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AttendResult> Attend(const AttendInput& input, const StopFunction& should_stop) {
  ATTUNE_RETURN_IF_ERROR(ValidateAttend(input));
  Matrix vectors = CopyOf(input.vectors);
  if (input.position == AttendPosition::kSinusoidal) {
    AddSinusoidalPositions(vectors.view());
  }
  AttendResult result;
  ATTUNE_ASSIGN_OR_RETURN(result.queries,
                          Project("queries", vectors, input.query_projection, should_stop));
  ATTUNE_ASSIGN_OR_RETURN(result.keys, Project("keys", vectors, input.key_projection, should_stop));
  ATTUNE_ASSIGN_OR_RETURN(result.values,
                          Project("values", vectors, input.value_projection, should_stop));
  ATTUNE_RETURN_IF_ERROR(MakeWeights(input, should_stop, result));
  result.outputs = Matrix(vectors.rows(), result.values.cols());
  for (int64_t head = 0; head < input.heads; ++head) {
    ATTUNE_RETURN_IF_ERROR(MixValues(head, input.heads, should_stop, result));
  }
  if (input.output_projection.rows() > 0) {
    ATTUNE_ASSIGN_OR_RETURN(
        result.outputs, Project("outputs", result.outputs, input.output_projection, should_stop));
  }
  return result;
}

}  // namespace attune
