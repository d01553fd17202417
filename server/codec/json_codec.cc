#include "server/codec/json_codec.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "server/rpc_status.h"
#include "server/status_message.h"

namespace attune {
namespace {

// The library's parser goes on after duplicate keys, and takes more than JSON: keys without quotes,
// for example. So a strict parser looks first.
absl::Status CheckStrictJson(absl::string_view json) {
  ATTUNE_ASSIGN_OR_RETURN(const Json parsed, ParseJson(json));
  if (parsed.is_object()) return absl::OkStatus();
  return absl::InvalidArgumentError("the body must be a JSON object");
}

// Older releases of the library have a status type of their own.
template <typename Status>
std::string MessageOf(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace

absl::Status DecodeJson(absl::string_view json, google::protobuf::Message& message) {
  ATTUNE_RETURN_IF_ERROR(CheckStrictJson(json));
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &message);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the body is not a ", message.GetDescriptor()->name(), ": ", CutMessage(MessageOf(parsed))));
}

absl::StatusOr<std::string> EncodeJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (printed.ok()) return json;
  return absl::InternalError(absl::StrCat("the reply has no JSON form: ", MessageOf(printed)));
}

std::string EncodeJsonStatus(const absl::Status& status) {
  const google::rpc::Status sent = ToRpcStatus(status);
  absl::StatusOr<std::string> json = EncodeJson(sent);
  if (json.ok()) return *std::move(json);
  // Its message is not UTF-8, which DumpJson mends.
  Json plain = Json::object();
  plain["code"] = sent.code();
  plain["message"] = sent.message();
  plain["details"] = Json::array();
  return DumpJson(plain);
}

}  // namespace attune
