#ifndef ATTUNE_SERVER_GRPC_GRPC_STATUS_H_
#define ATTUNE_SERVER_GRPC_GRPC_STATUS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace attune {

// The one place where our statuses become gRPC's. The codes are the same numbers; message and
// details are those of ToRpcStatus, so trailers stay within every proxy's header limits.
grpc::Status ToGrpcStatus(const absl::Status& status);

// What to finish a call with; once, just before Finish. If trying again helps, adds the trailer
// that tells the client's gRPC when, whose built-in retries do not read details.
grpc::Status EndOfCall(const absl::Status& status, grpc::CallbackServerContext& context);

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_GRPC_STATUS_H_
