// From gRPC's status to Abseil's; the two share their code numbers.
#ifndef ATTUNE_CLIENT_GRPC_STATUS_H_
#define ATTUNE_CLIENT_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace attune {

// The same code and message, and the details as payloads (client/error_details.h). A code that gRPC
// does not define becomes kUnknown. The message comes from the network: it may hold control
// characters and bytes that are not UTF-8.
absl::Status ToAbslStatus(const grpc::Status& status);

}  // namespace attune

#endif  // ATTUNE_CLIENT_GRPC_STATUS_H_
