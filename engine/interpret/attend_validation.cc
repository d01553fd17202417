// ValidateAttend: what Attend refuses, field by field, before any work.
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "engine/interpret/attend.h"
#include "engine/tensor/finite.h"

namespace attune {
namespace {

bool IsAbsent(const Matrix& matrix) { return matrix.rows() == 0 && matrix.cols() == 0; }

// `part` says which number of the field it is, with a space in front; empty: the field itself.
absl::Status CheckRange(absl::string_view field, absl::string_view part, int64_t value, int64_t min,
                        int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return FieldError(field, part, " is ", value, "; valid are ", min, " to ", max);
}

absl::Status CheckShape(absl::string_view field, const Matrix& matrix, int64_t rows, int64_t cols) {
  if (matrix.rows() == rows && matrix.cols() == cols) return absl::OkStatus();
  return FieldError(field, " is [", matrix.rows(), ", ", matrix.cols(), "]; it must be [", rows,
                    ", ", cols, "]");
}

absl::Status CheckFinite(absl::string_view field, const Matrix& matrix) {
  const auto index = FindNotFinite(matrix.span());
  if (!index.has_value()) return absl::OkStatus();
  const int64_t row = *index / matrix.cols();
  const int64_t col = *index % matrix.cols();
  return FieldError(field, " holds ", matrix.view().at(row, col), " at row ", row, ", column ", col,
                    "; every value must be finite");
}

// A projection is absent, or takes `inputs` columns to a valid number of columns.
absl::Status CheckProjection(absl::string_view field, const Matrix& projection, int64_t inputs) {
  if (IsAbsent(projection)) return absl::OkStatus();
  if (projection.rows() != inputs) {
    return FieldError(field, " has ", projection.rows(), " rows; the vectors it projects have ",
                      inputs, " columns, and the two must be equal");
  }
  ATTUNE_RETURN_IF_ERROR(
      CheckRange(field, " columns", projection.cols(), 1, AttendLimits::kMaxDimension));
  return CheckFinite(field, projection);
}

int64_t ColumnsAfter(const Matrix& projection, const AttendInput& input) {
  return IsAbsent(projection) ? input.vectors.cols() : projection.cols();
}

absl::Status CheckHeadsDivide(absl::string_view field, const Matrix& projection,
                              const AttendInput& input) {
  const int64_t columns = ColumnsAfter(projection, input);
  if (columns % input.heads == 0) return absl::OkStatus();
  return FieldError(IsAbsent(projection) ? "vectors" : field, " has ", columns,
                    " columns; they must be a multiple of heads, which is ", input.heads);
}

absl::Status CheckProjections(const AttendInput& input) {
  const int64_t dim = input.vectors.cols();
  ATTUNE_RETURN_IF_ERROR(CheckProjection("query_projection", input.query_projection, dim));
  ATTUNE_RETURN_IF_ERROR(CheckProjection("key_projection", input.key_projection, dim));
  ATTUNE_RETURN_IF_ERROR(CheckProjection("value_projection", input.value_projection, dim));
  const int64_t query_columns = ColumnsAfter(input.query_projection, input);
  const int64_t key_columns = ColumnsAfter(input.key_projection, input);
  if (query_columns != key_columns) {
    return FieldError("key_projection", " makes keys of ", key_columns,
                      " columns; the queries have ", query_columns, ", and the two must be equal");
  }
  ATTUNE_RETURN_IF_ERROR(CheckHeadsDivide("query_projection", input.query_projection, input));
  ATTUNE_RETURN_IF_ERROR(CheckHeadsDivide("value_projection", input.value_projection, input));
  return CheckProjection("output_projection", input.output_projection,
                         ColumnsAfter(input.value_projection, input));
}

absl::Status CheckAdditiveVector(const AttendInput& input) {
  if (input.score != AttendScore::kAdditive) {
    if (IsAbsent(input.additive_vector)) return absl::OkStatus();
    return FieldError("additive_vector",
                      " is given, but the score is not additive; leave one of the two out");
  }
  ATTUNE_RETURN_IF_ERROR(CheckShape("additive_vector", input.additive_vector, 1,
                                    ColumnsAfter(input.query_projection, input)));
  return CheckFinite("additive_vector", input.additive_vector);
}

absl::Status CheckMask(const AttendMask& mask, int64_t seq) {
  if (mask.kind == AttendMask::Kind::kWindow) {
    ATTUNE_RETURN_IF_ERROR(CheckRange("mask.window.left", "", mask.left, 0, seq));
    return CheckRange("mask.window.right", "", mask.right, 0, seq);
  }
  if (mask.kind != AttendMask::Kind::kGraph) return absl::OkStatus();
  const auto edges = static_cast<int64_t>(mask.edges.size());
  ATTUNE_RETURN_IF_ERROR(CheckRange("mask.graph.edges", " size", edges, 0, seq * seq));
  for (size_t i = 0; i < mask.edges.size(); ++i) {
    const auto [from, to] = mask.edges[i];
    if (from >= 0 && from < seq && to >= 0 && to < seq) continue;
    return FieldError(absl::StrCat("mask.graph.edges[", i, "]"), " is from ", from, " to ", to,
                      "; valid are 0 to ", seq - 1);
  }
  return absl::OkStatus();
}

absl::Status CheckGivenWeights(const AttendInput& input) {
  if (IsAbsent(input.given_weights)) return absl::OkStatus();
  const int64_t seq = input.vectors.rows();
  ATTUNE_RETURN_IF_ERROR(CheckShape("given_weights", input.given_weights, input.heads * seq, seq));
  ATTUNE_RETURN_IF_ERROR(CheckFinite("given_weights", input.given_weights));
  absl::string_view excluded;
  if (input.score != AttendScore::kScaledDot) excluded = "score";
  if (input.normalizer != AttendNormalizer::kSoftmax) excluded = "normalizer";
  if (input.mask.kind != AttendMask::Kind::kFull) excluded = "mask";
  if (excluded.empty()) return absl::OkStatus();
  return FieldError(excluded, " is set, but given_weights are used as they are; leave ", excluded,
                    " at its default");
}

}  // namespace

absl::Status ValidateAttend(const AttendInput& input) {
  ATTUNE_RETURN_IF_ERROR(
      CheckRange("vectors", " rows", input.vectors.rows(), 1, AttendLimits::kMaxVectors));
  ATTUNE_RETURN_IF_ERROR(
      CheckRange("vectors", " columns", input.vectors.cols(), 1, AttendLimits::kMaxDimension));
  ATTUNE_RETURN_IF_ERROR(CheckFinite("vectors", input.vectors));
  ATTUNE_RETURN_IF_ERROR(CheckRange("heads", "", input.heads, 1, AttendLimits::kMaxHeads));
  ATTUNE_RETURN_IF_ERROR(CheckProjections(input));
  ATTUNE_RETURN_IF_ERROR(CheckAdditiveVector(input));
  ATTUNE_RETURN_IF_ERROR(CheckMask(input.mask, input.vectors.rows()));
  return CheckGivenWeights(input);
}

int64_t AttendResultBytes(const AttendInput& input) {
  const int64_t seq = input.vectors.rows();
  const int64_t query_columns = ColumnsAfter(input.query_projection, input);
  const int64_t value_columns = ColumnsAfter(input.value_projection, input);
  const int64_t output_columns =
      IsAbsent(input.output_projection) ? value_columns : input.output_projection.cols();
  const int64_t square_matrices = IsAbsent(input.given_weights) ? 2 : 1;
  const int64_t row_floats =
      2 * query_columns + value_columns + output_columns + square_matrices * input.heads * seq;
  return seq * row_floats * static_cast<int64_t>(sizeof(float));
}

}  // namespace attune
