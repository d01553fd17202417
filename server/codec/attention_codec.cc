#include "server/codec/attention_codec.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/codec/codec_fields.h"

namespace attune {
namespace {

// The options of the contract have one value that is built (and the unspecified one, which means
// it).
template <typename Enum>
absl::Status CheckOnlyBuilt(absl::string_view field, Enum value, Enum built, int largest) {
  if (value == 0 || value == built) return absl::OkStatus();
  if (value < 0 || value > largest) return UnknownEnum(field, value);
  return NotBuilt(absl::StrCat(field, " ", static_cast<int>(value)));
}

absl::Status CheckBuilt(const v1::AttentionQuery& query) {
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.matrix", query.matrix(),
                                        v1::ATTENTION_MATRIX_WEIGHTS, v1::AttentionMatrix_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.head_reduction", query.head_reduction(),
                                        v1::ATTENTION_REDUCTION_NONE, v1::AttentionReduction_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.layer_reduction", query.layer_reduction(),
                                        v1::ATTENTION_REDUCTION_NONE, v1::AttentionReduction_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.level", query.level(), v1::ATTENTION_LEVEL_TOKEN,
                                        v1::AttentionLevel_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.specials", query.specials(),
                                        v1::ATTENTION_SPECIALS_KEEP, v1::AttentionSpecials_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.encoding", query.encoding(),
                                        v1::ATTENTION_ENCODING_F32, v1::AttentionEncoding_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.specials_axes", query.specials_axes(),
                                        v1::ATTENTION_AXES_BOTH, v1::AttentionAxes_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.block", query.block(), v1::ATTENTION_BLOCK_ALL,
                                        v1::AttentionBlock_MAX));
  ATTUNE_RETURN_IF_ERROR(CheckOnlyBuilt("query.erasure", query.erasure(), v1::TOKEN_ERASURE_NONE,
                                        v1::TokenErasure_MAX));
  if (query.statistics()) return NotBuilt("query.statistics");
  if (query.mixing_ratio()) return NotBuilt("query.mixing_ratio");
  if (query.has_query_range()) return NotBuilt("query.query_range");
  if (query.has_key_range()) return NotBuilt("query.key_range");
  if (query.spans_size() > 0) return NotBuilt("query.spans");
  if (query.has_sparsity()) return NotBuilt("query.sparsity");
  if (query.has_pool()) return NotBuilt("query.pool");
  if (query.ablate_size() > 0) return NotBuilt("query.ablate");
  if (query.mask_tokens_size() > 0) return NotBuilt("query.mask_tokens");
  if (query.layer_ranges_size() > 0) return NotBuilt("query.layer_ranges");
  if (query.head_ranges_size() > 0) return NotBuilt("query.head_ranges");
  if (query.pooled_queries()) return NotBuilt("query.pooled_queries");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AttentionInput> DecodeAttentionQuery(const v1::AttentionQuery& query) {
  switch (query.input_case()) {
    case v1::AttentionQuery::kText:
    case v1::AttentionQuery::kTextPair:
      break;
    case v1::AttentionQuery::kTokenIds:
      return NotBuilt("query.token_ids");
    case v1::AttentionQuery::kVectors:
      return NotBuilt("query.vectors");
    case v1::AttentionQuery::INPUT_NOT_SET:
      return absl::InvalidArgumentError("neither query.text nor query.text_pair is set");
  }
  ATTUNE_RETURN_IF_ERROR(CheckBuilt(query));
  AttentionInput input;
  input.text = query.has_text_pair() ? query.text_pair().first() : query.text();
  if (query.has_text_pair()) input.second_text = query.text_pair().second();
  ATTUNE_ASSIGN_OR_RETURN(input.policy.truncation,
                          DecodeTruncation("query.truncation", query.truncation()));
  if (query.has_max_tokens()) input.policy.max_tokens = query.max_tokens();
  input.policy.specials_as_text = query.specials_as_text();
  input.layers.assign(query.layers().begin(), query.layers().end());
  input.heads.assign(query.heads().begin(), query.heads().end());
  if (query.has_max_bytes()) {
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    input.max_bytes = static_cast<int64_t>(std::min(query.max_bytes(), kMost));
  }
  input.want_embedding = query.want_embedding();
  return input;
}

void EncodeAttentionReply(AttentionReply reply, const Tokenizer& tokenizer, const ModelInfo& model,
                          v1::AttentionMapResponse& response) {
  EncodeTokens(reply.encoding, tokenizer, *response.mutable_tokens());
  for (const int64_t layer : reply.layers) response.add_layers(static_cast<uint32_t>(layer));
  for (const int64_t head : reply.heads) response.add_heads(static_cast<uint32_t>(head));
  const auto seq = static_cast<uint64_t>(reply.encoding.size());
  for (const uint64_t axis :
       {uint64_t{reply.layers.size()}, uint64_t{reply.heads.size()}, seq, seq}) {
    response.add_shape(axis);
  }
  response.set_matrix(v1::ATTENTION_MATRIX_WEIGHTS);
  response.set_encoding(v1::ATTENTION_ENCODING_F32);
  response.set_data(std::move(reply.data));
  response.set_truncated(reply.encoding.truncated);
  response.set_beyond_trained_length(reply.encoding.size() > model.trained_max_tokens);
  response.mutable_embedding()->Add(reply.embedding.begin(), reply.embedding.end());
  EncodeProvenance(model, *response.mutable_provenance());
}

}  // namespace attune
