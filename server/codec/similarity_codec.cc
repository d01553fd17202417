#include "server/codec/similarity_codec.h"

#include <algorithm>

#include "engine/base/status_macros.h"
#include "server/codec/codec_fields.h"

namespace attune {

absl::StatusOr<SimilarityInput> DecodeSimilarityRequest(
    const v1::ExplainSimilarityRequest& request) {
  SimilarityInput input;
  input.first = request.first();
  input.second = request.second();
  ATTUNE_ASSIGN_OR_RETURN(input.policy.truncation,
                          DecodeTruncation("truncation", request.truncation()));
  if (request.has_max_tokens()) input.policy.max_tokens = request.max_tokens();
  input.policy.specials_as_text = request.specials_as_text();
  return input;
}

void EncodeSimilarityReply(const SimilarityReply& reply, const Tokenizer& tokenizer,
                           const ModelInfo& model, v1::ExplainSimilarityResponse& response) {
  response.set_cosine(static_cast<float>(reply.explanation.cosine));
  EncodeTokens(reply.first, tokenizer, *response.mutable_first_tokens());
  EncodeTokens(reply.second, tokenizer, *response.mutable_second_tokens());
  EncodeMatrix(reply.explanation.contributions, *response.mutable_contributions());
  response.set_first_truncated(reply.first.truncated);
  response.set_second_truncated(reply.second.truncated);
  response.set_beyond_trained_length(std::max(reply.first.size(), reply.second.size()) >
                                     model.trained_max_tokens);
  EncodeProvenance(model, *response.mutable_provenance());
}

}  // namespace attune
