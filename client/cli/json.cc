#include "client/cli/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace attune::cli {

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ..."
    absl::string_view reason = error.what();
    const size_t bracket = reason.find("] ");
    if (bracket != absl::string_view::npos) reason.remove_prefix(bracket + 2);
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", reason));
  }
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

void AppendFloat(float value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), result.ptr);
}

void AppendArray(absl::Span<const float> values, std::string& out) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    AppendFloat(values[i], out);
  }
  out += ']';
}

void AppendMatrix(absl::Span<const float> values, size_t cols, std::string& out) {
  out += '[';
  for (size_t begin = 0; begin < values.size(); begin += cols) {
    if (begin > 0) out += ',';
    AppendArray(values.subspan(begin, cols), out);
  }
  out += ']';
}

}  // namespace attune::cli
