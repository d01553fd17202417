#include "client/error_details.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

namespace attune {
namespace {

template <typename Detail>
std::optional<Detail> Find(const absl::Status& status) {
  Detail detail;
  const auto payload =
      status.GetPayload(absl::StrCat("type.googleapis.com/", Detail::descriptor()->full_name()));
  if (!payload.has_value() || !detail.ParseFromString(std::string(*payload))) return std::nullopt;
  return detail;
}

}  // namespace

std::optional<std::string> ReasonOfError(const absl::Status& status) {
  const auto info = Find<google::rpc::ErrorInfo>(status);
  if (!info.has_value() || info->reason().empty()) return std::nullopt;
  return info->reason();
}

std::optional<absl::Duration> RetryDelayOfError(const absl::Status& status) {
  const auto retry = Find<google::rpc::RetryInfo>(status);
  if (!retry.has_value()) return std::nullopt;
  return absl::Seconds(retry->retry_delay().seconds()) +
         absl::Nanoseconds(retry->retry_delay().nanos());
}

absl::Status internal::WithMessage(const absl::Status& status, absl::string_view message) {
  absl::Status renamed(status.code(), message);
  status.ForEachPayload([&renamed](absl::string_view type_url, const absl::Cord& payload) {
    renamed.SetPayload(type_url, payload);
  });
  return renamed;
}

}  // namespace attune
