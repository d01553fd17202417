// Messages as JSON, by the protobuf JSON mapping, and errors as google.rpc.Status.
#ifndef ATTUNE_SERVER_CODEC_JSON_CODEC_H_
#define ATTUNE_SERVER_CODEC_JSON_CODEC_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

// Fills `message` from one JSON object: https://protobuf.dev/programming-guides/json. Field names
// may be lowerCamelCase or as in the .proto file. Stricter than the mapping where it is open:
// kInvalidArgument also for unknown fields, duplicate keys, nesting beyond 64 levels, NaN without
// quotes, and anything else that RFC 8259 does not allow; each with the place or the name.
absl::Status DecodeJson(absl::string_view json, google::protobuf::Message& message);

// `message` in lowerCamelCase, with the fields that have their default value: a reader need not
// know which ones were left out. Bytes are base64.
absl::StatusOr<std::string> EncodeJson(const google::protobuf::Message& message);

// `status` as a google.rpc.Status: {"code": 3, "message": "...", "details": []}.
std::string EncodeJsonStatus(const absl::Status& status);

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_JSON_CODEC_H_
