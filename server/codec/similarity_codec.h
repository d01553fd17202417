// ExplainSimilarity: messages to pipeline types and back.
#ifndef ATTUNE_SERVER_CODEC_SIMILARITY_CODEC_H_
#define ATTUNE_SERVER_CODEC_SIMILARITY_CODEC_H_

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "server/requests.h"

namespace attune {

// The result borrows from `request`. kInvalidArgument for a value the contract does not have.
absl::StatusOr<SimilarityInput> DecodeSimilarityRequest(
    const v1::ExplainSimilarityRequest& request);

void EncodeSimilarityReply(const SimilarityReply& reply, const Tokenizer& tokenizer,
                           const ModelInfo& model, v1::ExplainSimilarityResponse& response);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_SIMILARITY_CODEC_H_
