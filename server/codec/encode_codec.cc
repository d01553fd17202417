#include "server/codec/encode_codec.h"

#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"
#include "server/codec/codec_fields.h"

namespace attune {
namespace {

absl::Status DecodePooling(v1::Pooling value, EncodeInput& input) {
  const auto use = [&input](PoolingMode mode) {
    input.pooling = EncodeInput::PoolingChoice::kMode;
    input.mode = mode;
    return absl::OkStatus();
  };
  switch (value) {
    case v1::POOLING_UNSPECIFIED:
      input.pooling = EncodeInput::PoolingChoice::kModel;
      return absl::OkStatus();
    case v1::POOLING_NONE:
      input.pooling = EncodeInput::PoolingChoice::kNone;
      return absl::OkStatus();
    case v1::POOLING_MEAN:
      return use(PoolingMode::kMean);
    case v1::POOLING_CLS:
      return use(PoolingMode::kCls);
    case v1::POOLING_MAX:
      return use(PoolingMode::kMax);
    case v1::POOLING_LAST_TOKEN:
      return use(PoolingMode::kLastToken);
    case v1::POOLING_WEIGHTED_MEAN:
      return use(PoolingMode::kWeightedMean);
    default:
      return UnknownEnum("options.pooling", value);
  }
}

absl::Status CheckOutputFormat(v1::OutputFormat value) {
  switch (value) {
    case v1::OUTPUT_FORMAT_UNSPECIFIED:
    case v1::OUTPUT_FORMAT_F32:
      return absl::OkStatus();
    case v1::OUTPUT_FORMAT_F16:
    case v1::OUTPUT_FORMAT_INT8:
    case v1::OUTPUT_FORMAT_BINARY:
      return NotBuilt("options.output_format other than F32");
    default:
      return UnknownEnum("options.output_format", value);
  }
}

}  // namespace

absl::Status DecodeEncodeOptions(const v1::EncodeOptions& options, EncodeInput& input) {
  if (!options.prompt().empty()) return NotBuilt("options.prompt");
  if (!options.prompt_name().empty()) return NotBuilt("options.prompt_name");
  if (options.has_dimensions()) return NotBuilt("options.dimensions");
  ATTUNE_RETURN_IF_ERROR(CheckOutputFormat(options.output_format()));
  ATTUNE_RETURN_IF_ERROR(DecodePooling(options.pooling(), input));
  ATTUNE_ASSIGN_OR_RETURN(input.policy.truncation,
                          DecodeTruncation("options.truncation", options.truncation()));
  if (options.has_max_tokens()) input.policy.max_tokens = options.max_tokens();
  input.policy.specials_as_text = options.specials_as_text();
  if (options.has_mask()) {
    ATTUNE_ASSIGN_OR_RETURN(input.window, DecodeMask("options.mask", options.mask()));
  }
  if (options.has_normalize()) input.normalize = options.normalize();
  if (options.has_expected_dimension()) input.expected_dimension = options.expected_dimension();
  return absl::OkStatus();
}

absl::StatusOr<EncodeInput> DecodeEncodeRequest(const v1::EncodeRequest& request) {
  EncodeInput input;
  switch (request.input_case()) {
    case v1::EncodeRequest::kTexts:
      if (request.texts().values().empty()) {
        return FieldError("texts.values", " is empty");
      }
      input.kind = EncodeInput::Kind::kTexts;
      input.texts.assign(request.texts().values().begin(), request.texts().values().end());
      break;
    case v1::EncodeRequest::kTextPairs:
      input.kind = EncodeInput::Kind::kTextPairs;
      for (const v1::TextPair& pair : request.text_pairs().values()) {
        input.text_pairs.push_back({pair.first(), pair.second()});
      }
      break;
    case v1::EncodeRequest::kTokenIds:
      input.kind = EncodeInput::Kind::kTokenIds;
      for (const v1::TokenIds& ids : request.token_ids().values()) {
        input.token_ids.emplace_back(ids.values());
      }
      break;
    case v1::EncodeRequest::kVectors:
      input.kind = EncodeInput::Kind::kVectors;
      for (const v1::Matrix& matrix : request.vectors().values()) {
        ATTUNE_ASSIGN_OR_RETURN(
            const ConstMatrixView vectors,
            DecodeMatrixView(absl::StrCat("vectors.values[", input.vectors.size(), "]"), matrix));
        input.vectors.push_back(vectors);
      }
      break;
    case v1::EncodeRequest::INPUT_NOT_SET:
      return FieldError("input",
                        " is not set; it must be one of texts, text_pairs, token_ids and vectors");
  }
  ATTUNE_RETURN_IF_ERROR(DecodeEncodeOptions(request.options(), input));
  return input;
}

void EncodeEmbedding(const TextVector& vector, const ModelInfo& model, v1::Embedding& embedding) {
  embedding.mutable_values()->Add(vector.values.begin(), vector.values.end());
  embedding.set_tokens(static_cast<uint32_t>(vector.tokens));
  embedding.set_truncated(vector.truncated);
  embedding.set_beyond_trained_length(vector.tokens > model.trained_max_tokens);
}

void EncodeEncodeReply(const EncodeReply& reply, const ModelInfo& model,
                       v1::EncodeResponse& response) {
  response.mutable_embeddings()->Reserve(static_cast<int>(reply.vectors.size()));
  for (const TextVector& vector : reply.vectors) {
    EncodeEmbedding(vector, model, *response.add_embeddings());
  }
  response.set_dimension(static_cast<uint32_t>(reply.dimension));
  response.set_model(model.name);
}

}  // namespace attune
