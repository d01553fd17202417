#include "server/rpc_status.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"
#include "engine/base/not_finite_error.h"
#include "google/rpc/error_details.pb.h"
#include "server/error_details.h"
#include "server/status_message.h"

namespace attune {
namespace {

constexpr int kMaxViolations = 16;
// What is left of texts that have to be cut. One violation with both of its texts, and the message,
// then fit whatever they hold.
constexpr size_t kLeastMessageBytes = 256;
constexpr size_t kLeastViolationBytes = 128;

// "type.googleapis.com/google.rpc.ErrorInfo", for one.
std::string TypeUrl(const google::protobuf::Message& detail) {
  return absl::StrCat("type.googleapis.com/", detail.GetDescriptor()->full_name());
}

// A status in parts that can be cut.
struct Draft {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
  google::rpc::ErrorInfo error_info;
  google::rpc::RetryInfo retry_info;
  google::rpc::BadRequest bad_request;
  google::rpc::QuotaFailure quota_failure;
};

void AddDetail(const google::protobuf::Message& detail, google::rpc::Status& status) {
  if (detail.ByteSizeLong() > 0) status.add_details()->PackFrom(detail);
}

google::rpc::Status Assemble(const Draft& draft) {
  google::rpc::Status status;
  status.set_code(static_cast<int32_t>(draft.code));
  status.set_message(draft.message);
  AddDetail(draft.error_info, status);
  AddDetail(draft.retry_info, status);
  AddDetail(draft.bad_request, status);
  AddDetail(draft.quota_failure, status);
  return status;
}

// Faults of ours that no layer gave a reason.
absl::Status WithReasonOfFault(const absl::Status& error) {
  if (error.code() != absl::StatusCode::kInternal) return error;
  if (IsNotFinite(error)) return WithReason(error, ErrorReason::kNonfiniteOutput);
  if (!ReasonOf(error).empty()) return error;
  return WithReason(error, ErrorReason::kInternalFault);
}

Draft DraftOf(const absl::Status& error) {
  const absl::Status explained = WithReasonOfFault(error);
  Draft draft;
  draft.code = error.code();
  draft.message = std::string(CutMessage(error.message()));
  ReadDetail(explained, draft.error_info);
  ReadDetail(explained, draft.retry_info);
  ReadDetail(explained, draft.quota_failure);
  const std::optional<std::string> field = FieldOf(error);
  if (!ReadDetail(explained, draft.bad_request) && field.has_value()) {
    google::rpc::BadRequest::FieldViolation& violation = *draft.bad_request.add_field_violations();
    violation.set_field(*field);
    violation.set_description(draft.message);
  }
  return draft;
}

size_t BytesOver(const Draft& draft) {
  const size_t bytes = TrailerBytes(Assemble(draft));
  return bytes > kMaxTrailerBytes ? bytes - kMaxTrailerBytes : 0;
}

// Each byte is sent twice: by itself, and in base64.
void CutMessageBy(size_t sent_bytes, std::string& message) {
  const size_t excess = sent_bytes * 3 / 7 + 4;
  const size_t left = message.size() > excess ? message.size() - excess : 0;
  message.resize(CutMessage(message, std::max(left, kLeastMessageBytes)).size());
}

void CutViolationTexts(google::rpc::BadRequest& bad_request) {
  for (auto& violation : *bad_request.mutable_field_violations()) {
    violation.set_field(std::string(CutMessage(violation.field(), kLeastViolationBytes)));
    violation.set_description(
        std::string(CutMessage(violation.description(), kLeastViolationBytes)));
  }
}

void CutToFit(Draft& draft) {
  auto& violations = *draft.bad_request.mutable_field_violations();
  if (BytesOver(draft) > 0) draft.error_info.clear_metadata();
  if (violations.size() > kMaxViolations) {
    violations.DeleteSubrange(kMaxViolations, violations.size() - kMaxViolations);
  }
  if (const size_t over = BytesOver(draft); over > 0) CutMessageBy(over, draft.message);
  if (BytesOver(draft) > 0) CutViolationTexts(draft.bad_request);
  while (BytesOver(draft) > 0 && violations.size() > 1) violations.RemoveLast();
}

// gRPC writes %xx for what is not printable ASCII, and for "%".
size_t PercentEncodedBytes(absl::string_view text) {
  size_t bytes = 0;
  for (const char c : text) bytes += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  return bytes;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& error) {
  Draft draft = DraftOf(error);
  CutToFit(draft);
  return Assemble(draft);
}

size_t TrailerBytes(const google::rpc::Status& status) {
  const size_t base64_bytes = (status.ByteSizeLong() + 2) / 3 * 4;
  return PercentEncodedBytes(status.message()) + base64_bytes;
}

void AttachDetail(const google::protobuf::Message& detail, absl::Status& error) {
  error.SetPayload(TypeUrl(detail), absl::Cord(detail.SerializeAsString()));
}

bool ReadDetail(const absl::Status& error, google::protobuf::Message& detail) {
  const auto payload = error.GetPayload(TypeUrl(detail));
  return payload.has_value() && detail.ParseFromString(std::string(*payload));
}

}  // namespace attune
