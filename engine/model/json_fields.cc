#include "engine/model/json_fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

absl::Status Missing(absl::string_view key) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is missing"));
}

absl::Status Wrong(absl::string_view key, const Json& value, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is ", Shown(value), "; ", wanted));
}

}  // namespace

absl::StatusOr<Json> ParseJsonObject(absl::string_view text) {
  ATTUNE_ASSIGN_OR_RETURN(Json json, ParseJson(text));
  if (!json.is_object()) return absl::InvalidArgumentError("not a JSON object");
  return json;
}

const Json* FindMember(const Json& object, absl::string_view key) {
  const auto it = object.find(std::string(key));
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

absl::StatusOr<int64_t> IntMember(const Json& object, absl::string_view key, int64_t min,
                                  int64_t max) {
  const Json* member = FindMember(object, key);
  if (member == nullptr) return Missing(key);
  const std::optional<int64_t> value = AsInt64(*member);
  if (!value.has_value() || *value < min || *value > max) {
    return Wrong(key, *member, absl::StrCat("it must be an integer from ", min, " to ", max));
  }
  return *value;
}

absl::StatusOr<bool> BoolMember(const Json& object, absl::string_view key, bool absent) {
  const Json* member = FindMember(object, key);
  if (member == nullptr) return absent;
  if (!member->is_boolean()) return Wrong(key, *member, "it must be true or false");
  return member->get<bool>();
}

absl::StatusOr<std::string> StringMember(const Json& object, absl::string_view key,
                                         absl::string_view absent) {
  const Json* member = FindMember(object, key);
  if (member == nullptr) return std::string(absent);
  if (!member->is_string()) return Wrong(key, *member, "it must be a string");
  return member->get<std::string>();
}

}  // namespace attune
