#include "server/refusal_reason.h"

#include <algorithm>

#include "google/rpc/error_details.pb.h"
#include "server/rpc_status.h"

namespace attune {

std::string ErrorInfoReason(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  return ReadDetail(status, info) ? info.reason() : "";
}

std::optional<size_t> RefusalReasonIndex(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) && !absl::IsUnavailable(status)) return std::nullopt;
  const auto* const other = kRefusalReasons.end() - 1;
  const auto* const found = std::find(kRefusalReasons.begin(), other, ErrorInfoReason(status));
  return static_cast<size_t>(found - kRefusalReasons.begin());
}

}  // namespace attune
