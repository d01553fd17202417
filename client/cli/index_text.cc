#include "client/cli/index_text.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace attune::cli {
namespace {

absl::Status NotA(absl::string_view text, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", expected));
}

// Reads one of "4", "4:6", "4:" and ":6" into `selection`.
bool AddIndices(absl::string_view part, IndexSelection& selection) {
  const std::vector<absl::string_view> ends = absl::StrSplit(part, ':');
  int32_t begin = 0;
  int32_t end = 0;
  if (ends.size() == 1) {
    if (!absl::SimpleAtoi(part, &begin)) return false;
    selection.numbers.push_back(begin);
    return true;
  }
  if (ends.size() != 2 || (ends[0].empty() && ends[1].empty())) return false;
  if (!ends[0].empty() && !absl::SimpleAtoi(ends[0], &begin)) return false;
  v1::IndexRange range;
  range.set_begin(begin);
  if (!ends[1].empty()) {
    if (!absl::SimpleAtoi(ends[1], &end)) return false;
    range.set_end(end);
  }
  selection.ranges.push_back(range);
  return true;
}

}  // namespace

absl::StatusOr<IndexSelection> ParseIndices(absl::string_view text) {
  IndexSelection selection;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (!AddIndices(part, selection)) {
      return NotA(text, "numbers and ranges such as 3, -1, 0,2 or 4:6 (which is 4 and 5)");
    }
  }
  return selection;
}

absl::StatusOr<std::pair<uint32_t, uint32_t>> ParseRange(absl::string_view text) {
  constexpr absl::string_view kExpected = "a range such as 4:6 (which is 4 and 5) or 4, from 0";
  const std::vector<absl::string_view> ends = absl::StrSplit(text, ':');
  uint32_t begin = 0;
  if (ends.size() > 2 || !absl::SimpleAtoi(ends[0], &begin)) return NotA(text, kExpected);
  uint32_t end = begin + 1;
  if (ends.size() == 2 && !absl::SimpleAtoi(ends[1], &end)) return NotA(text, kExpected);
  if (end <= begin) return NotA(text, absl::StrCat(kExpected, "; it is empty"));
  return std::pair(begin, end);
}

absl::StatusOr<std::pair<uint32_t, uint32_t>> ParseWindow(absl::string_view text) {
  const std::vector<absl::string_view> sides = absl::StrSplit(text, ':');
  std::pair<uint32_t, uint32_t> window;
  const bool parsed = sides.size() == 2 && absl::SimpleAtoi(sides[0], &window.first) &&
                      absl::SimpleAtoi(sides[1], &window.second);
  if (!parsed) return NotA(text, "a window such as 2:1: two tokens before and one after");
  return window;
}

absl::StatusOr<std::vector<uint32_t>> ParseNumbers(absl::string_view text) {
  std::vector<uint32_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtoi(part, &numbers.emplace_back())) {
      return NotA(text, "numbers from 0 such as 3 or 3,5,8");
    }
  }
  return numbers;
}

absl::StatusOr<v1::HeadAblation> ParseAblation(absl::string_view text) {
  constexpr absl::string_view kExpected =
      "a head such as 2/5 (layer 2, head 5), a layer such as 2, or one of these with =zero or "
      "=uniform";
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::pair<absl::string_view, absl::string_view> place =
      absl::StrSplit(parts.first, absl::MaxSplits('/', 1));
  v1::HeadAblation ablation;
  int32_t layer = 0;
  if (!absl::SimpleAtoi(place.first, &layer)) return NotA(text, kExpected);
  ablation.set_layer(layer);
  if (place.first.size() < parts.first.size()) {
    int32_t head = 0;
    if (!absl::SimpleAtoi(place.second, &head)) return NotA(text, kExpected);
    ablation.set_head(head);
  }
  ablation.set_mode(v1::HeadAblation::MODE_ZERO);
  if (parts.second == "uniform") ablation.set_mode(v1::HeadAblation::MODE_UNIFORM);
  const bool known = parts.second == "zero" || parts.second == "uniform";
  if (!known && parts.first.size() < text.size()) return NotA(text, kExpected);
  return ablation;
}

}  // namespace attune::cli
