// Numbers, ranges and heads as flags take them.
#ifndef ATTUNE_CLIENT_CLI_INDEX_TEXT_H_
#define ATTUNE_CLIENT_CLI_INDEX_TEXT_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"

namespace attune::cli {

// Layers or heads: single numbers and ranges.
struct IndexSelection {
  std::vector<int32_t> numbers;
  std::vector<v1::IndexRange> ranges;
};

// "0,2,4:6": numbers and ranges. 4:6 is 4 and 5, 4: is 4 to the last, :6 is 0 to 5, and negative
// numbers count from the end. kInvalidArgument saying what is expected otherwise.
absl::StatusOr<IndexSelection> ParseIndices(absl::string_view text);

// "4:6": 4 and 5; "4": 4 alone. Neither is negative.
absl::StatusOr<std::pair<uint32_t, uint32_t>> ParseRange(absl::string_view text);

// "2:1": two numbers from 0.
absl::StatusOr<std::pair<uint32_t, uint32_t>> ParseWindow(absl::string_view text);

// "3,5,8".
absl::StatusOr<std::vector<uint32_t>> ParseNumbers(absl::string_view text);

// "2/5": head 5 of layer 2; "2": all heads of layer 2. "2/5=uniform" and "2/5=zero" name the mode.
absl::StatusOr<v1::HeadAblation> ParseAblation(absl::string_view text);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_INDEX_TEXT_H_
