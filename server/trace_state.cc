#include "server/trace_state.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace attune {
namespace {

// All of it must be handed on up to this size, and need not beyond.
constexpr size_t kMaxBytes = 512;
constexpr int kMaxMembers = 32;
constexpr size_t kMaxKeyBytes = 256;
constexpr size_t kMaxValueBytes = 256;
constexpr absl::string_view kBlanks = " \t";

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsKeyCharacter(char c) {
  return IsLowerOrDigit(c) || absl::string_view("_-*/@").find(c) != absl::string_view::npos;
}

bool IsKey(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxKeyBytes && IsLowerOrDigit(text.front()) &&
         std::all_of(text.begin(), text.end(), IsKeyCharacter);
}

bool IsValueCharacter(char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; }

// Without the blanks around it, so that it ends with none.
bool IsValue(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxValueBytes &&
         std::all_of(text.begin(), text.end(), IsValueCharacter);
}

bool IsMember(absl::string_view text) {
  const size_t equals = text.find('=');
  return equals != absl::string_view::npos && IsKey(text.substr(0, equals)) &&
         IsValue(text.substr(equals + 1));
}

absl::string_view WithoutBlanks(absl::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == absl::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool IsTraceState(absl::string_view text) {
  int members = 0;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = WithoutBlanks(part);
    if (part.empty()) continue;  // as the grammar allows
    if (++members > kMaxMembers || !IsMember(part)) return false;
  }
  return members > 0;
}

}  // namespace

std::string TraceStateOf(absl::Span<const absl::string_view> lines) {
  std::string joined = absl::StrJoin(lines, ",");
  return joined.size() <= kMaxBytes && IsTraceState(joined) ? joined : "";
}

}  // namespace attune
