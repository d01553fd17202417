#include "server/codec/codec_fields.h"

#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"
#include "server/error_details.h"

namespace attune {

absl::Status NotBuilt(absl::string_view field) {
  return WithReason(absl::UnimplementedError(absl::StrCat(field, " is not built yet")),
                    ErrorReason::kNotBuilt);
}

absl::Status UnknownEnum(absl::string_view field, int value) {
  return FieldError(field, " is ", value, ", which is not one of its values");
}

absl::StatusOr<TruncationPolicy> DecodeTruncation(absl::string_view field, v1::Truncation value) {
  switch (value) {
    case v1::TRUNCATION_UNSPECIFIED:
    case v1::TRUNCATION_ERROR:
      return TruncationPolicy::kError;
    case v1::TRUNCATION_RIGHT:
      return TruncationPolicy::kRight;
    case v1::TRUNCATION_LEFT:
      return TruncationPolicy::kLeft;
    default:
      return UnknownEnum(field, value);
  }
}

absl::StatusOr<AttentionWindow> DecodeMask(absl::string_view field,
                                           const v1::AttentionMask& message) {
  switch (message.kind_case()) {
    case v1::AttentionMask::kCausal:
      return AttentionWindow{.after = 0};
    case v1::AttentionMask::kWindow:
      return AttentionWindow{message.window().left(), message.window().right()};
    case v1::AttentionMask::KIND_NOT_SET:
      break;
  }
  return FieldError(field, " is of no kind; it must be one of causal and window");
}

absl::StatusOr<ConstMatrixView> DecodeMatrixView(absl::string_view field,
                                                 const v1::Matrix& message) {
  // In 64 bits, since rows * cols can be 2^64 - 2^33.
  if (uint64_t{message.rows()} * message.cols() != static_cast<uint64_t>(message.values_size())) {
    return FieldError(field, " has ", message.rows(), " rows and ", message.cols(), " cols, but ",
                      message.values_size(), " values");
  }
  return ConstMatrixView(message.values().data(), message.rows(), message.cols());
}

void EncodeMatrix(const Matrix& matrix, v1::Matrix& message) {
  message.set_rows(static_cast<uint32_t>(matrix.rows()));
  message.set_cols(static_cast<uint32_t>(matrix.cols()));
  message.mutable_values()->Add(matrix.span().begin(), matrix.span().end());
}

void EncodeProvenance(const ModelInfo& model, v1::Provenance& provenance) {
  provenance.set_model(model.name);
  provenance.set_model_revision(model.revision);
  provenance.set_server_version(model.server_version);
  provenance.set_compute_dtype(std::string(PrecisionName(model.precision.precision)));
  provenance.set_isa(model.isa);
  provenance.set_onednn_version(model.onednn_version);
  provenance.set_kernels(model.kernels);
}

void EncodeTokens(const Encoding& encoding, const Tokenizer& tokenizer,
                  google::protobuf::RepeatedPtrField<v1::Token>& tokens) {
  tokens.Reserve(static_cast<int>(encoding.size()));
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    v1::Token& token = *tokens.Add();
    token.set_text(std::string(tokenizer.TokenText(encoding.ids[i])));
    token.set_id(static_cast<uint32_t>(encoding.ids[i]));
    token.set_byte_begin(static_cast<uint32_t>(encoding.byte_ranges[i].begin));
    token.set_byte_end(static_cast<uint32_t>(encoding.byte_ranges[i].end));
    token.set_code_point_begin(static_cast<uint32_t>(encoding.code_point_ranges[i].begin));
    token.set_code_point_end(static_cast<uint32_t>(encoding.code_point_ranges[i].end));
    token.set_word(encoding.word_ids[i]);
    token.set_special(encoding.special[i]);
    token.set_segment(static_cast<uint32_t>(encoding.type_ids[i]));
  }
}

}  // namespace attune
