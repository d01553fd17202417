// Which layers or heads a caller means.
#ifndef ATTUNE_ENGINE_INTERPRET_SELECTION_H_
#define ATTUNE_ENGINE_INTERPRET_SELECTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attune {

// Numbers begin to end - 1; negative ones count from the end, an absent end is the count.
struct IndexRange {
  int64_t begin = 0;
  std::optional<int64_t> end;
};

// Resolves a choice: empty means all, -1 the last, down to -count. Returns the chosen numbers
// ascending. kInvalidArgument for a number out of range or given twice, naming `field`, the value
// and the valid range.
absl::StatusOr<std::vector<int64_t>> ResolveSelection(absl::string_view field,
                                                      absl::Span<const int64_t> requested,
                                                      int64_t count);

// The same for numbers and ranges together.
absl::StatusOr<std::vector<int64_t>> ResolveSelection(absl::string_view field,
                                                      absl::Span<const int64_t> requested,
                                                      absl::string_view range_field,
                                                      absl::Span<const IndexRange> ranges,
                                                      int64_t count);

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_SELECTION_H_
