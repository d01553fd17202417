#include "server/codec/stream_codec.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "server/codec/encode_codec.h"
#include "server/rpc_status.h"

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
    google::rpc::Status status = ToRpcStatus(reply.status());
    v1::StreamItemError& error = *response.mutable_error();
    error.set_code(status.code());
    error.set_message(std::move(*status.mutable_message()));
    error.mutable_details()->Swap(status.mutable_details());
  }
  return response;
}

}  // namespace attune
