#include "server/request_id.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/trace_context.h"

namespace attune {

bool IsRequestId(absl::string_view text) {
  constexpr size_t kMostBytes = 128;
  return !text.empty() && text.size() <= kMostBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

std::string RequestIdOf(absl::string_view given) {
  if (IsRequestId(given)) return std::string(given);
  return absl::StrCat(RandomHex16(), RandomHex16());
}

}  // namespace attune
