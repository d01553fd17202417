// JSON in and out of the command line, without exceptions.
#ifndef ATTUNE_CLIENT_CLI_JSON_H_
#define ATTUNE_CLIENT_CLI_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"

namespace attune::cli {

// Objects keep their order.
using Json = nlohmann::ordered_json;

// One JSON document. kInvalidArgument with the place and reason if it is malformed.
absl::StatusOr<Json> ParseJson(absl::string_view text);

// `json` on one line, or indented by `indent`. What is not UTF-8 becomes U+FFFD.
std::string DumpJson(const Json& json, int indent = -1);

// Appends `value` in the fewest digits that read back as the same float; "null" if not finite.
void AppendFloat(float value, std::string& out);

// Appends `values` as an array.
void AppendArray(absl::Span<const float> values, std::string& out);

// Appends the row-major `values` [rows, cols] as an array of arrays.
void AppendMatrix(absl::Span<const float> values, size_t cols, std::string& out);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_JSON_H_
