// Tokenize and GetModel: messages to pipeline types and back.
#ifndef ATTUNE_SERVER_CODEC_MODEL_CODEC_H_
#define ATTUNE_SERVER_CODEC_MODEL_CODEC_H_

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "server/requests.h"

namespace attune {

// The result borrows from `request`.
absl::StatusOr<TokenizeInput> DecodeTokenizeRequest(const v1::TokenizeRequest& request);

void EncodeTokenizeReply(const TokenizeReply& reply, const Tokenizer& tokenizer,
                         v1::TokenizeResponse& response);

void EncodeModelInfo(const ModelInfo& model, v1::GetModelResponse& response);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_MODEL_CODEC_H_
