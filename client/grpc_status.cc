#include "client/grpc_status.h"

#include "absl/strings/cord.h"
#include "google/rpc/status.pb.h"

namespace attune {
namespace {

constexpr bool Same(absl::StatusCode absl_code, grpc::StatusCode grpc_code) {
  return static_cast<int>(absl_code) == static_cast<int>(grpc_code);
}

static_assert(Same(absl::StatusCode::kOk, grpc::StatusCode::OK));
static_assert(Same(absl::StatusCode::kCancelled, grpc::StatusCode::CANCELLED));
static_assert(Same(absl::StatusCode::kUnknown, grpc::StatusCode::UNKNOWN));
static_assert(Same(absl::StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT));
static_assert(Same(absl::StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED));
static_assert(Same(absl::StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND));
static_assert(Same(absl::StatusCode::kAlreadyExists, grpc::StatusCode::ALREADY_EXISTS));
static_assert(Same(absl::StatusCode::kPermissionDenied, grpc::StatusCode::PERMISSION_DENIED));
static_assert(Same(absl::StatusCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED));
static_assert(Same(absl::StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED));
static_assert(Same(absl::StatusCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION));
static_assert(Same(absl::StatusCode::kAborted, grpc::StatusCode::ABORTED));
static_assert(Same(absl::StatusCode::kOutOfRange, grpc::StatusCode::OUT_OF_RANGE));
static_assert(Same(absl::StatusCode::kUnimplemented, grpc::StatusCode::UNIMPLEMENTED));
static_assert(Same(absl::StatusCode::kInternal, grpc::StatusCode::INTERNAL));
static_assert(Same(absl::StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE));
static_assert(Same(absl::StatusCode::kDataLoss, grpc::StatusCode::DATA_LOSS));

}  // namespace

absl::Status ToAbslStatus(const grpc::Status& status) {
  const int code = status.error_code();
  const bool known = code >= grpc::StatusCode::OK && code <= grpc::StatusCode::UNAUTHENTICATED;
  absl::Status result(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      status.error_message());
  google::rpc::Status details;
  if (!result.ok() && details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace attune
