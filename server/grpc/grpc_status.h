#ifndef ATTUNE_SERVER_GRPC_GRPC_STATUS_H_
#define ATTUNE_SERVER_GRPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace attune {

// The one place where our statuses become gRPC's. The codes are the same numbers; the message is
// cut to 2 KiB at a character border, so that trailers stay within every proxy's header limits.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_GRPC_STATUS_H_
