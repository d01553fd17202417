// Return early from a function that returns absl::Status or absl::StatusOr, and say where an error
// comes from on its way up.
#ifndef ATTUNE_ENGINE_BASE_STATUS_MACROS_H_
#define ATTUNE_ENGINE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace attune {

// `error` with "place: " in front of its message.
inline absl::Status AnnotateStatus(const absl::Status& error, absl::string_view place) {
  return absl::Status(error.code(), absl::StrCat(place, ": ", error.message()));
}

}  // namespace attune

#define ATTUNE_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (absl::Status attune_status_ = (expr); !attune_status_.ok()) return attune_status_; \
  } while (false)

// ATTUNE_ASSIGN_OR_RETURN(auto value, FunctionReturningStatusOr());
#define ATTUNE_ASSIGN_OR_RETURN(lhs, expr) \
  ATTUNE_ASSIGN_OR_RETURN_IMPL_(ATTUNE_CONCAT_(attune_statusor_, __LINE__), lhs, expr)

#define ATTUNE_CONCAT_INNER_(a, b) a##b
#define ATTUNE_CONCAT_(a, b) ATTUNE_CONCAT_INNER_(a, b)
// A declaration cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define ATTUNE_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = *std::move(statusor)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // ATTUNE_ENGINE_BASE_STATUS_MACROS_H_
