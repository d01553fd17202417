#include "server/error_details.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "server/rpc_status.h"

namespace attune {
absl::Status WithReason(absl::Status error, ErrorReason reason, const ErrorMetadata& metadata) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ErrorReasonName(reason)));
  info.set_domain("attune");
  for (const auto& [name, value] : metadata) (*info.mutable_metadata())[name] = value;
  AttachDetail(info, error);
  return error;
}

std::string ReasonOf(const absl::Status& error) {
  google::rpc::ErrorInfo info;
  return ReadDetail(error, info) ? info.reason() : "";
}

absl::Status WithRetryDelay(absl::Status error, absl::Duration delay) {
  google::rpc::RetryInfo retry;
  const int64_t nanos = absl::ToInt64Nanoseconds(delay);
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  retry.mutable_retry_delay()->set_seconds(nanos / kNanosPerSecond);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(nanos % kNanosPerSecond));
  AttachDetail(retry, error);
  return error;
}

std::optional<absl::Duration> RetryDelayOf(const absl::Status& error) {
  google::rpc::RetryInfo retry;
  if (!ReadDetail(error, retry)) return std::nullopt;
  return absl::Seconds(retry.retry_delay().seconds()) +
         absl::Nanoseconds(retry.retry_delay().nanos());
}

absl::Status WithMessage(const absl::Status& error, absl::string_view message) {
  absl::Status renamed(error.code(), message);
  error.ForEachPayload([&renamed](absl::string_view type_url, const absl::Cord& payload) {
    renamed.SetPayload(type_url, payload);
  });
  return renamed;
}

absl::Status LimitReached(ErrorReason reason, const SharedLimit& limit, absl::string_view message,
                          absl::Duration delay) {
  absl::Status error = absl::ResourceExhaustedError(message);
  google::rpc::QuotaFailure failure;
  google::rpc::QuotaFailure::Violation& violation = *failure.add_violations();
  violation.set_subject(std::string(limit.name));
  violation.set_description(std::string(message));
  AttachDetail(failure, error);
  error = WithReason(std::move(error), reason,
                     {{"limit", absl::StrCat(limit.limit)},
                      {"used", absl::StrCat(limit.used)},
                      {"wanted", absl::StrCat(limit.wanted)}});
  return WithRetryDelay(std::move(error), delay);
}

}  // namespace attune
