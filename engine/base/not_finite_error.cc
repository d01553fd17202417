#include "engine/base/not_finite_error.h"

#include "absl/strings/cord.h"

namespace attune {
namespace {

constexpr char kNotFinitePayload[] = "attune/not-finite";

}  // namespace

absl::Status NotFiniteError(absl::string_view what) {
  absl::Status error = absl::InternalError(what);
  error.SetPayload(kNotFinitePayload, absl::Cord());
  return error;
}

bool IsNotFinite(const absl::Status& error) {
  return error.GetPayload(kNotFinitePayload).has_value();
}

}  // namespace attune
