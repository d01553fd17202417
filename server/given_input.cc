#include "server/given_input.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

// The id of a token that is none.
constexpr int32_t kNoToken = -1;

absl::Status CheckVectors(absl::string_view field, ConstMatrixView vectors,
                          const ModelInfo& model) {
  if (vectors.rows == 0) return FieldError(field, " is empty");
  if (vectors.rows > model.max_tokens) {
    return FieldError(field, " has ", vectors.rows, " rows; the limit is ", model.max_tokens);
  }
  if (vectors.cols != model.config.hidden) {
    return FieldError(field, " has ", vectors.cols, " cols; the model takes ", model.config.hidden);
  }
  for (int64_t row = 0; row < vectors.rows; ++row) {
    for (int64_t col = 0; col < vectors.cols; ++col) {
      if (std::isfinite(vectors.at(row, col))) continue;
      return FieldError(absl::StrCat(field, ".values[", row * vectors.cols + col, "]"), " is ",
                        vectors.at(row, col), "; it must be finite");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Encoding> TakeTokenIds(absl::string_view field, absl::Span<const uint32_t> ids,
                                      const ModelInfo& model) {
  if (ids.empty()) return FieldError(field, " is empty");
  if (static_cast<int64_t>(ids.size()) > model.max_tokens) {
    return FieldError(field, " has ", ids.size(), " ids; the limit is ", model.max_tokens);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < static_cast<uint64_t>(model.config.vocab)) continue;
    return FieldError(absl::StrCat(field, ".values[", i, "]"), " is ", ids[i],
                      "; it must be below ", model.config.vocab);
  }
  Encoding encoding;
  encoding.ids.assign(ids.begin(), ids.end());
  encoding.original_tokens = encoding.size();
  return encoding;
}

absl::StatusOr<Encoding> TakeVectors(absl::string_view field, ConstMatrixView vectors,
                                     const ModelInfo& model) {
  ATTUNE_RETURN_IF_ERROR(CheckVectors(field, vectors, model));
  Encoding encoding;
  encoding.ids.assign(static_cast<size_t>(vectors.rows), kNoToken);
  encoding.original_tokens = encoding.size();
  return encoding;
}

void FillInOffsets(Encoding& encoding) {
  const size_t seq = encoding.ids.size();
  encoding.type_ids.assign(seq, 0);
  encoding.byte_ranges.assign(seq, {});
  encoding.code_point_ranges.assign(seq, {});
  encoding.word_ids.assign(seq, -1);
  encoding.special.assign(seq, false);
}

}  // namespace attune
