#include "engine/text/json_fields.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace attune {
namespace {

const Json& NullJson() {
  static const auto* const null = new Json();
  return *null;
}

}  // namespace

JsonField JsonField::Get(absl::string_view key) const {
  std::string path = path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
  const auto it = value_->find(std::string(key));
  return {it != value_->end() ? *it : NullJson(), std::move(path)};
}

JsonField JsonField::At(size_t index) const {
  return {(*value_)[index], absl::StrCat(path_, "[", index, "]")};
}

bool JsonField::Is(absl::string_view text) const {
  return value_->is_string() && value_->get_ref<const std::string&>() == text;
}

absl::Status JsonField::ExpectObject() const {
  return value_->is_object() ? absl::OkStatus() : Error("must be an object");
}

absl::Status JsonField::ExpectArray() const {
  return value_->is_array() ? absl::OkStatus() : Error("must be an array");
}

absl::StatusOr<std::string> JsonField::String() const {
  if (!value_->is_string()) return Error("must be a string");
  return value_->get_ref<const std::string&>();
}

absl::StatusOr<bool> JsonField::Bool() const {
  if (!value_->is_boolean()) return Error("must be true or false");
  return value_->get<bool>();
}

absl::StatusOr<bool> JsonField::BoolOr(bool missing) const {
  if (is_null()) return missing;
  return Bool();
}

absl::StatusOr<int64_t> JsonField::Integer(int64_t low, int64_t high) const {
  const std::optional<int64_t> value = AsInt64(*value_);
  if (!value.has_value() || *value < low || *value > high) {
    return Error(
        absl::StrCat("must be a whole number from ", low, " to ", high, ", not ", Shown(*value_)));
  }
  return *value;
}

absl::Status JsonField::Error(absl::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", reason));
}

absl::Status JsonField::Unsupported(absl::string_view what) const {
  return absl::UnimplementedError(absl::StrCat(path_, ": ", what, " is not supported"));
}

}  // namespace attune
