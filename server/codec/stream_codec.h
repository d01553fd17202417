// StreamEncode: messages to pipeline types and back.
#ifndef ATTUNE_SERVER_CODEC_STREAM_CODEC_H_
#define ATTUNE_SERVER_CODEC_STREAM_CODEC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"
#include "server/requests.h"

namespace attune {

// The options of a stream, as an input that has no text yet. Errors as DecodeEncodeRequest.
absl::StatusOr<EncodeInput> DecodeStreamOptions(const v1::EncodeOptions& options);

// The answer to item `id`: its vector, or why there is none.
v1::StreamEncodeResponse EncodeStreamAnswer(uint64_t id, const absl::StatusOr<EncodeReply>& reply,
                                            const ModelInfo& model);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_STREAM_CODEC_H_
