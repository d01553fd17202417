#include "server/field_errors.h"

#include "absl/strings/str_cat.h"
#include "engine/base/field_error.h"
#include "google/rpc/error_details.pb.h"
#include "server/error_details.h"
#include "server/rpc_status.h"

namespace attune {
namespace {

constexpr size_t kMostKept = 16;

}  // namespace

void FieldErrors::Add(const absl::Status& error) {
  if (error.ok()) return;
  ++count_;
  if (kept_.size() < kMostKept) kept_.push_back(error);
}

absl::Status FieldErrors::Combined() const {
  if (kept_.empty()) return absl::OkStatus();
  if (count_ == 1) return kept_.front();
  google::rpc::BadRequest bad_request;
  for (const absl::Status& error : kept_) {
    google::rpc::BadRequest::FieldViolation& violation = *bad_request.add_field_violations();
    violation.set_field(FieldOf(error).value_or(""));
    violation.set_description(std::string(error.message()));
  }
  absl::Status combined = WithMessage(
      kept_.front(), absl::StrCat(kept_.front().message(), " (the first of ", count_, " errors)"));
  AttachDetail(bad_request, combined);
  return combined;
}

}  // namespace attune
