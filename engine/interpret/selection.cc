#include "engine/interpret/selection.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/check.h"
#include "engine/base/field_error.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

absl::Status BadRange(absl::string_view field, const IndexRange& range, int64_t count) {
  const std::string end = range.end.has_value() ? absl::StrCat(*range.end) : "the last";
  return FieldError(field, " holds ", range.begin, " to ", end,
                    "; a range must begin before its end, "
                    "inside 0 to ",
                    count, ", or counted from the last inside -", count, " to -1");
}

// Appends the numbers of `range`.
absl::Status AppendRange(absl::string_view field, const IndexRange& range, int64_t count,
                         std::vector<int64_t>& numbers) {
  const auto from_front = [count](int64_t value) { return value < 0 ? value + count : value; };
  const int64_t last = range.end.value_or(count);
  if (range.begin < -count || range.begin >= count || last < -count || last > count ||
      from_front(range.begin) >= from_front(last)) {
    return BadRange(field, range, count);
  }
  for (int64_t number = from_front(range.begin); number < from_front(last); ++number) {
    numbers.push_back(number);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ResolveSelection(absl::string_view field,
                                                      absl::Span<const int64_t> requested,
                                                      int64_t count) {
  ATTUNE_CHECK(count > 0);
  std::vector<bool> chosen(static_cast<size_t>(count), requested.empty());
  for (const int64_t value : requested) {
    if (value < -count || value >= count) {
      return FieldError(field, " holds ", value, "; valid are 0 to ", count - 1, ", and -1 to ",
                        -count, " counted from the last");
    }
    const int64_t number = value < 0 ? value + count : value;
    if (chosen[static_cast<size_t>(number)]) {
      return FieldError(field, " holds ", value, ", but number ", number, " of 0 to ", count - 1,
                        " was given before; give each once");
    }
    chosen[static_cast<size_t>(number)] = true;
  }
  std::vector<int64_t> numbers;
  for (int64_t number = 0; number < count; ++number) {
    if (chosen[static_cast<size_t>(number)]) numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<std::vector<int64_t>> ResolveSelection(absl::string_view field,
                                                      absl::Span<const int64_t> requested,
                                                      absl::string_view range_field,
                                                      absl::Span<const IndexRange> ranges,
                                                      int64_t count) {
  std::vector<int64_t> numbers(requested.begin(), requested.end());
  for (const IndexRange& range : ranges) {
    // A caller could send any number of ranges; each once is at most `count` numbers.
    if (static_cast<int64_t>(numbers.size()) > 2 * count) break;
    ATTUNE_RETURN_IF_ERROR(AppendRange(range_field, range, count, numbers));
  }
  return ResolveSelection(field, numbers, count);
}

}  // namespace attune
