// The JSON form of Attend: what `attune attend` reads and writes.
#ifndef ATTUNE_CLIENT_CLI_ATTEND_JSON_H_
#define ATTUNE_CLIENT_CLI_ATTEND_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attune/v1/attune.pb.h"

namespace attune::cli {

// A matrix is an array of rows of one length.
//   {"vectors": M, "query_projection": M, "key_projection": M, "value_projection": M,
//    "output_projection": M, "additive_vector": [..], "given_weights": M or one M per head,
//    "heads": 1, "score": "scaled_dot" | "dot" | "additive", "normalizer": "softmax" | "relu",
//    "position": "none" | "sinusoidal",
//    "mask": "none" | "causal" | {"window": {"left": 1, "right": 1}} | {"graph": [[0, 1], ..]}}
// All but "vectors" may be left out; null is as left out. kInvalidArgument naming the key for a
// wrong type, rows of unequal length, or a key that is none of these.
absl::StatusOr<v1::AttendRequest> AttendRequestFromJson(absl::string_view text);

// {"queries": M, "keys": M, "values": M, "scores": [M per head], "weights": [M per head],
//  "outputs": M}; absent steps are left out.
std::string AttendResponseToJson(const v1::AttendResponse& response);

// A built-in request to learn from: "a" is attention on raw vectors, "b" with projections.
// kNotFound for any other name.
absl::StatusOr<v1::AttendRequest> AttendExample(absl::string_view name);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_ATTEND_JSON_H_
