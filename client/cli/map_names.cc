#include "client/cli/map_names.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "client/cli/enum_names.h"

namespace attune::cli {
namespace {

constexpr size_t kListedNumbers = 4;

std::vector<std::string> UnitNames(const v1::AttentionMapResponse& map) {
  std::vector<std::string> names;
  for (const v1::Word& word : map.words()) names.push_back(word.text());
  if (!names.empty()) return names;
  for (const v1::Token& token : map.tokens()) names.push_back(token.text());
  return names;
}

absl::Status NotTheShape(const v1::AttentionMapResponse& map) {
  return absl::InternalError(absl::StrCat("the server sent a map of ", map.shape(2), " rows and ",
                                          map.shape(3), " columns for ", map.tokens_size(),
                                          " tokens, of which it names ", map.queries_size(),
                                          " and ", map.keys_size()));
}

// `count` names for the chosen units; where there are fewer than units, of runs of these.
bool NameAxis(const std::vector<std::string>& units, absl::Span<const uint32_t> chosen,
              uint64_t count, std::vector<std::string>& names) {
  if (count > chosen.size()) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t unit = chosen[i * chosen.size() / count];
    if (unit >= units.size()) return false;
    names.push_back(units[unit]);
  }
  return true;
}

// "heads 0, 1" or "12 heads".
std::string Numbers(const char* what, absl::Span<const uint32_t> numbers) {
  if (numbers.size() > kListedNumbers) return absl::StrCat(numbers.size(), " ", what, "s");
  return absl::StrCat(what, "s ", absl::StrJoin(numbers, ", "));
}

std::string PlaceOnAxis(const char* what, absl::Span<const uint32_t> numbers, uint64_t size,
                        size_t index, const std::string& reduction) {
  if (size == numbers.size()) return absl::StrCat(what, " ", numbers[index]);
  return absl::StrCat(reduction, " of ", Numbers(what, numbers));
}

}  // namespace

bool MergesHeads(v1::AttentionMatrix matrix) {
  switch (matrix) {
    case v1::ATTENTION_MATRIX_UNSPECIFIED:
    case v1::ATTENTION_MATRIX_WEIGHTS:
    case v1::ATTENTION_MATRIX_RAW_SCORES:
    case v1::ATTENTION_MATRIX_VALUE_NORM:
      return false;
    default:
      return true;
  }
}

absl::StatusOr<MapNames> NamesOfMap(const v1::AttentionMapResponse& map) {
  MapNames names;
  if (map.queries().empty() && map.keys().empty()) {
    names.queries = names.keys = {"A", "B"};
    if (map.shape(2) != 2 || map.shape(3) != 2) return NotTheShape(map);
    return names;
  }
  const std::vector<std::string> units = UnitNames(map);
  bool fits = NameAxis(units, map.keys(), map.shape(3), names.keys);
  if (map.queries().empty()) {
    names.queries = {"embedding"};
    fits = fits && map.shape(2) == 1;
  } else {
    fits = fits && NameAxis(units, map.queries(), map.shape(2), names.queries);
  }
  if (!fits) return NotTheShape(map);
  return names;
}

std::string MapTitle(const v1::AttentionMapResponse& map, const v1::AttentionQuery& query,
                     size_t layer, size_t head) {
  std::string title = PlaceOnAxis("layer", map.layers(), map.shape(0), layer, "mean");
  if (map.heads().empty()) return title;
  return absl::StrCat(
      title, ", ",
      PlaceOnAxis("head", map.heads(), map.shape(1), head, EnumName(query.head_reduction())));
}

}  // namespace attune::cli
