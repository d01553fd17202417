// Encode: messages to pipeline types and back.
#ifndef ATTUNE_SERVER_CODEC_ENCODE_CODEC_H_
#define ATTUNE_SERVER_CODEC_ENCODE_CODEC_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "server/requests.h"

namespace attune {

// The result borrows from `request`. kInvalidArgument for a value the contract does not have,
// kUnimplemented naming a field that is not built yet. Limits are the pipeline's to check.
absl::StatusOr<EncodeInput> DecodeEncodeRequest(const v1::EncodeRequest& request);

// The options alone, into `input`.
absl::Status DecodeEncodeOptions(const v1::EncodeOptions& options, EncodeInput& input);

void EncodeEmbedding(const TextVector& vector, const ModelInfo& model, v1::Embedding& embedding);
void EncodeEncodeReply(const EncodeReply& reply, const ModelInfo& model,
                       v1::EncodeResponse& response);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_ENCODE_CODEC_H_
