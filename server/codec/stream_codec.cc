#include "server/codec/stream_codec.h"

#include <string>

#include "engine/base/status_macros.h"
#include "server/codec/encode_codec.h"

namespace attune {

absl::StatusOr<EncodeInput> DecodeStreamOptions(const v1::EncodeOptions& options) {
  EncodeInput input;
  ATTUNE_RETURN_IF_ERROR(DecodeEncodeOptions(options, input));
  return input;
}

v1::StreamEncodeResponse EncodeStreamAnswer(uint64_t id, const absl::StatusOr<EncodeReply>& reply,
                                            const ModelInfo& model) {
  v1::StreamEncodeResponse response;
  response.set_id(id);
  if (reply.ok()) {
    EncodeEmbedding(reply->vectors.front(), model, *response.mutable_embedding());
  } else {
    response.mutable_error()->set_code(static_cast<int32_t>(reply.status().code()));
    response.mutable_error()->set_message(std::string(reply.status().message()));
  }
  return response;
}

}  // namespace attune
