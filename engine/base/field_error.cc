#include "engine/base/field_error.h"

#include "absl/strings/cord.h"

namespace attune {
namespace {

constexpr char kFieldPayload[] = "attune/field";

}  // namespace

absl::Status AboutField(absl::string_view path, absl::string_view message) {
  absl::Status error = absl::InvalidArgumentError(message);
  error.SetPayload(kFieldPayload, absl::Cord(path));
  return error;
}

std::optional<std::string> FieldOf(const absl::Status& error) {
  const auto path = error.GetPayload(kFieldPayload);
  if (!path.has_value()) return std::nullopt;
  return std::string(*path);
}

}  // namespace attune
