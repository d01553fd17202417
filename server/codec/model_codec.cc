#include "server/codec/model_codec.h"

#include <string>

#include "engine/base/status_macros.h"
#include "server/codec/codec_fields.h"

namespace attune {
namespace {

void EncodeQuality(const QualityFigures& figures, v1::Quality& quality) {
  quality.set_texts(static_cast<uint32_t>(figures.texts));
  quality.set_mean_cosine(figures.mean_cosine);
  quality.set_min_cosine(figures.min_cosine);
  quality.set_max_difference(figures.max_difference);
  quality.set_neighbours(static_cast<uint32_t>(figures.neighbours));
  quality.set_mean_overlap(figures.mean_overlap);
  quality.set_worst_overlap(figures.worst_overlap);
}

}  // namespace

absl::StatusOr<TokenizeInput> DecodeTokenizeRequest(const v1::TokenizeRequest& request) {
  TokenizeInput input;
  input.texts.assign(request.texts().values().begin(), request.texts().values().end());
  ATTUNE_ASSIGN_OR_RETURN(input.policy.truncation,
                          DecodeTruncation("truncation", request.truncation()));
  if (request.has_max_tokens()) input.policy.max_tokens = request.max_tokens();
  input.policy.specials_as_text = request.specials_as_text();
  input.add_special_tokens = !request.without_special_tokens();
  return input;
}

void EncodeTokenizeReply(const TokenizeReply& reply, const Tokenizer& tokenizer,
                         v1::TokenizeResponse& response) {
  for (const Encoding& encoding : reply.texts) {
    v1::TokenizedText& text = *response.add_texts();
    EncodeTokens(encoding, tokenizer, *text.mutable_tokens());
    text.set_truncated(encoding.truncated);
  }
}

void EncodeModelInfo(const ModelInfo& model, v1::GetModelResponse& response) {
  response.set_name(model.name);
  response.set_revision(model.revision);
  response.set_family(model.config.model_type);
  response.set_layers(static_cast<uint32_t>(model.config.layers));
  response.set_heads(static_cast<uint32_t>(model.config.heads));
  response.set_head_dim(static_cast<uint32_t>(model.config.head_dim()));
  response.set_hidden(static_cast<uint32_t>(model.config.hidden));
  response.set_vocab_size(static_cast<uint32_t>(model.config.vocab));
  response.set_max_tokens(static_cast<uint32_t>(model.max_tokens));
  response.set_trained_max_tokens(static_cast<uint32_t>(model.trained_max_tokens));
  response.set_max_positions(static_cast<uint32_t>(model.config.max_positions));
  response.set_dimension(static_cast<uint32_t>(model.dimension));
  for (const PoolingMode mode : model.pooling) {
    response.add_pooling(std::string(PoolingModeName(mode)));
  }
  response.set_normalize(model.normalize);
  response.set_precision(std::string(PrecisionName(model.precision.precision)));
  response.set_precision_reason(model.precision.reason);
  if (model.precision.quality.has_value()) {
    EncodeQuality(*model.precision.quality, *response.mutable_quality());
  }
  response.set_kernels(model.kernels);
  response.set_isa(model.isa);
  response.set_onednn_version(model.onednn_version);
  response.set_server_version(model.server_version);
  v1::Limits& limits = *response.mutable_limits();
  limits.set_max_message_bytes(static_cast<uint64_t>(model.max_message_bytes));
  limits.set_max_texts(static_cast<uint64_t>(model.max_texts));
  limits.set_max_text_bytes(static_cast<uint64_t>(model.max_text_bytes));
  limits.set_max_attention_reply_bytes(static_cast<uint64_t>(model.max_attention_reply_bytes));
}

}  // namespace attune
