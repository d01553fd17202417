// Typed access to fields of a parsed JSON file, with errors that say where.
#ifndef ATTUNE_ENGINE_TEXT_JSON_FIELDS_H_
#define ATTUNE_ENGINE_TEXT_JSON_FIELDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/json.h"

namespace attune {

// A JSON value and its path in the file ("model.vocab"). Borrows the value. Thread-compatible.
class JsonField {
 public:
  JsonField(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const Json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  bool is_null() const { return value_->is_null(); }
  // Whether the value is the string `text`.
  bool Is(absl::string_view text) const;

  // The member `key`, or a null field if there is none. The value must be an object.
  JsonField Get(absl::string_view key) const;
  // Element `index` of an array.
  JsonField At(size_t index) const;

  // kInvalidArgument naming the path unless the value has the type (and range) asked for.
  absl::Status ExpectObject() const;
  absl::Status ExpectArray() const;
  absl::StatusOr<std::string> String() const;
  absl::StatusOr<bool> Bool() const;
  absl::StatusOr<int64_t> Integer(int64_t low, int64_t high) const;
  // The same, or `missing` if the value is null.
  absl::StatusOr<bool> BoolOr(bool missing) const;

  // kInvalidArgument "<path>: <reason>".
  absl::Status Error(absl::string_view reason) const;
  // kUnimplemented "<path>: <what> is not supported".
  absl::Status Unsupported(absl::string_view what) const;

 private:
  const Json* value_;
  std::string path_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_TEXT_JSON_FIELDS_H_
