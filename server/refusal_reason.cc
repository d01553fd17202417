#include "server/refusal_reason.h"

#include <string>

#include "server/error_details.h"

namespace attune {

absl::string_view RefusalName(size_t index) {
  return index < kRefusalReasons.size() ? ErrorReasonName(kRefusalReasons[index]) : "OTHER";
}

std::optional<size_t> RefusalIndex(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) && !absl::IsUnavailable(status)) return std::nullopt;
  const std::string reason = ReasonOf(status);
  size_t index = 0;
  while (index < kRefusalReasons.size() && RefusalName(index) != reason) ++index;
  return index;
}

}  // namespace attune
