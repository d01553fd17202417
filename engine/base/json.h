// Strict JSON for files that come from outside: no exceptions, no duplicate keys, bounded depth.
#ifndef ATTUNE_ENGINE_BASE_JSON_H_
#define ATTUNE_ENGINE_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace attune {

// Objects keep the order of the file. Integers stay integers: is_number_float() tells 1.0 from 1.
using Json = nlohmann::ordered_json;

struct JsonLimits {
  int max_depth = 64;              // nesting of arrays and objects
  size_t max_values = 20'000'000;  // keys and values in all
};

// Parses one JSON document (RFC 8259) that fills the whole of `text`.
// kInvalidArgument for malformed text, invalid UTF-8 or a number that no double can hold (each with
// the byte offset), for a duplicate key and for passing a limit. The message stays short whatever
// the text is. An integer beyond uint64 becomes a float. Throws nothing but std::bad_alloc.
// Thread-safe.
absl::StatusOr<Json> ParseJson(absl::string_view text, const JsonLimits& limits = {});

// Of what type the document `text` is, for who does not need what is in it; errors as ParseJson.
// The destructor of a Json allocates memory, as much as its largest array or object takes, and ends
// the process where there is none: so this keeps nothing. Thread-safe.
absl::StatusOr<Json::value_t> CheckJson(absl::string_view text, const JsonLimits& limits = {});

// `text` as a JSON string literal, quotes included. Invalid UTF-8 becomes U+FFFD.
std::string QuoteJson(absl::string_view text);

// `text`, cut to its first hundred or so bytes: for error messages about values from outside.
std::string ShortenForMessage(absl::string_view text);

// `value` as compact JSON text. Invalid UTF-8 becomes U+FFFD.
std::string DumpJson(const Json& value);

// `value` as JSON for an error message, shortened.
std::string Shown(const Json& value);

// The integer that `value` is, unless it is something else ("3", 3.0) or fits no int64.
std::optional<int64_t> AsInt64(const Json& value);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_JSON_H_
