// Typed members of a model folder's JSON objects. Errors are kInvalidArgument and name the key, the
// value that was found and what may stand there.
#ifndef ATTUNE_ENGINE_MODEL_JSON_FIELDS_H_
#define ATTUNE_ENGINE_MODEL_JSON_FIELDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/json.h"

namespace attune {

// The strict parse of `text`, which must be an object.
absl::StatusOr<Json> ParseJsonObject(absl::string_view text);

// The member `key` of `object`; null if it is absent or the JSON null.
const Json* FindMember(const Json& object, absl::string_view key);

// An integer within [min, max]. 3.0, "3" and an integer that fits no int64 are refused.
absl::StatusOr<int64_t> IntMember(const Json& object, absl::string_view key, int64_t min,
                                  int64_t max);

// true or false; `absent` if there is no such member. 0, 1 and "true" are refused.
absl::StatusOr<bool> BoolMember(const Json& object, absl::string_view key, bool absent);

// A string; `absent` if there is no such member.
absl::StatusOr<std::string> StringMember(const Json& object, absl::string_view key,
                                         absl::string_view absent);

}  // namespace attune

#endif  // ATTUNE_ENGINE_MODEL_JSON_FIELDS_H_
