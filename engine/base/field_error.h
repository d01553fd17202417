// Errors about one field of a request, in a form that programs can read as well.
#ifndef ATTUNE_ENGINE_BASE_FIELD_ERROR_H_
#define ATTUNE_ENGINE_BASE_FIELD_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace attune {

// kInvalidArgument with `message`, which is about the field at `path`: names as in the contract,
// with indices ("texts.values[3]"). Prefer FieldError.
absl::Status AboutField(absl::string_view path, absl::string_view message);

// The same with a message that begins with the path, and goes on with `rest` as StrCat puts it:
//   FieldError("query.pool.size", " is ", size, "; it must be at least 1")
template <typename... Rest>
absl::Status FieldError(absl::string_view path, const Rest&... rest) {
  return AboutField(path, absl::StrCat(path, rest...));
}

// The path of the field that `error` is about, if it was made by one of the above.
std::optional<std::string> FieldOf(const absl::Status& error);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_FIELD_ERROR_H_
