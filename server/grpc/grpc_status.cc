#include "server/grpc/grpc_status.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/error_details.h"
#include "server/rpc_status.h"

namespace attune {
namespace {

constexpr bool SameCode(absl::StatusCode ours, grpc::StatusCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(SameCode(absl::StatusCode::kCancelled, grpc::StatusCode::CANCELLED));
static_assert(SameCode(absl::StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT));
static_assert(SameCode(absl::StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED));
static_assert(SameCode(absl::StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND));
static_assert(SameCode(absl::StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED));
static_assert(SameCode(absl::StatusCode::kFailedPrecondition,
                       grpc::StatusCode::FAILED_PRECONDITION));
static_assert(SameCode(absl::StatusCode::kUnimplemented, grpc::StatusCode::UNIMPLEMENTED));
static_assert(SameCode(absl::StatusCode::kInternal, grpc::StatusCode::INTERNAL));
static_assert(SameCode(absl::StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE));
static_assert(SameCode(absl::StatusCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED));

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status sent = ToRpcStatus(status);
  const std::string details = sent.details().empty() ? "" : sent.SerializeAsString();
  return {static_cast<grpc::StatusCode>(sent.code()), sent.message(), details};
}

grpc::Status EndOfCall(const absl::Status& status, grpc::CallbackServerContext& context) {
  if (const std::optional<absl::Duration> delay = RetryDelayOf(status)) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms",
                                absl::StrCat(absl::ToInt64Milliseconds(*delay)));
  }
  return ToGrpcStatus(status);
}

}  // namespace attune
