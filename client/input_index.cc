#include "client/input_index.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "client/error_details.h"

namespace attune {
namespace {

constexpr absl::string_view kInputIndexPayload = "attune.v1/input_index";

}  // namespace

absl::Status internal::WithInputIndex(const absl::Status& status, size_t index) {
  absl::Status result = WithMessage(status, absl::StrCat("input ", index, ": ", status.message()));
  result.SetPayload(kInputIndexPayload, absl::Cord(absl::StrCat(index)));
  return result;
}

std::optional<size_t> FailedInputIndex(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kInputIndexPayload);
  size_t index = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &index)) return std::nullopt;
  return index;
}

}  // namespace attune
