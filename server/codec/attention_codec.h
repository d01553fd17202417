// AttentionMap: messages to pipeline types and back.
#ifndef ATTUNE_SERVER_CODEC_ATTENTION_CODEC_H_
#define ATTUNE_SERVER_CODEC_ATTENTION_CODEC_H_

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "server/requests.h"

namespace attune {

// The result borrows from `query`. kInvalidArgument for a value the contract does not have,
// kUnimplemented naming a field that is not built yet.
absl::StatusOr<AttentionInput> DecodeAttentionQuery(const v1::AttentionQuery& query);

// Moves the matrices out of `reply`.
void EncodeAttentionReply(AttentionReply reply, const Tokenizer& tokenizer, const ModelInfo& model,
                          v1::AttentionMapResponse& response);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_ATTENTION_CODEC_H_
