// A status as clients are sent it.
#ifndef ATTUNE_SERVER_RPC_STATUS_H_
#define ATTUNE_SERVER_RPC_STATUS_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace attune {

// Of what an error takes in gRPC's trailers, encoded as they are sent. Proxies and peers cut
// connections over larger ones.
inline constexpr size_t kMaxTrailerBytes = 4096;

// `error` with its details (server/error_details.h), a BadRequest for the field that a FieldError
// names, and an ErrorInfo for every fault of ours. Cut to kMaxTrailerBytes, in this order: the
// metadata of ErrorInfo, violations beyond the first 16, the message at a character border, and at
// last the texts and the number of the violations.
google::rpc::Status ToRpcStatus(const absl::Status& error);

// What `status` takes in the trailers grpc-message and grpc-status-details-bin.
size_t TrailerBytes(const google::rpc::Status& status);

// Adds `detail` to `error`, in place of the one of its type.
void AttachDetail(const google::protobuf::Message& detail, absl::Status& error);

// Reads the detail of the type of `detail`; false if `error` has none.
bool ReadDetail(const absl::Status& error, google::protobuf::Message& detail);

}  // namespace attune

#endif  // ATTUNE_SERVER_RPC_STATUS_H_
