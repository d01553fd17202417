#include "server/codec/json_codec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "engine/base/status_macros.h"
#include "server/codec/growing_text.h"
#include "server/out_of_memory.h"
#include "server/rpc_status.h"
#include "server/status_message.h"

namespace attune {
namespace {

constexpr char kTypeUrlPrefix[] = "type.googleapis.com";

// What a type's name means. Never destroyed, as the descriptors are not.
google::protobuf::util::TypeResolver& Resolver() {
  static auto& resolver = *google::protobuf::util::NewTypeResolverForDescriptorPool(
      kTypeUrlPrefix, google::protobuf::DescriptorPool::generated_pool());
  return resolver;
}

std::string TypeUrl(const google::protobuf::Message& message) {
  return absl::StrCat(kTypeUrlPrefix, "/", message.GetDescriptor()->full_name());
}

// The library's parser goes on after duplicate keys, and takes more than JSON: keys without quotes,
// for example. So a strict parser looks first.
absl::Status CheckStrictJson(absl::string_view json) {
  ATTUNE_ASSIGN_OR_RETURN(const Json::value_t type, CheckJson(json));
  if (type == Json::value_t::object) return absl::OkStatus();
  return absl::InvalidArgumentError("the body must be a JSON object");
}

// Older releases of the library have a status type of their own.
template <typename Status>
std::string MessageOf(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace

// JsonStringToMessage and MessageToJsonString, but for the strings that they write into.

absl::Status DecodeJson(absl::string_view json, google::protobuf::Message& message) {
  ATTUNE_RETURN_IF_ERROR(CheckStrictJson(json));
  google::protobuf::io::ArrayInputStream input(json.data(), static_cast<int>(json.size()));
  GrowingText binary;
  const auto parsed =
      google::protobuf::util::JsonToBinaryStream(&Resolver(), TypeUrl(message), &input, &binary);
  if (binary.out_of_memory()) return OutOfMemory();
  if (parsed.ok() && message.ParseFromString(binary.text())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the body is not a ", message.GetDescriptor()->name(), ": ", CutMessage(MessageOf(parsed))));
}

absl::StatusOr<std::string> EncodeJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  const std::string binary = message.SerializeAsString();
  google::protobuf::io::ArrayInputStream input(binary.data(), static_cast<int>(binary.size()));
  GrowingText json;
  const auto printed = google::protobuf::util::BinaryToJsonStream(&Resolver(), TypeUrl(message),
                                                                  &input, &json, options);
  if (json.out_of_memory()) return OutOfMemory();
  if (printed.ok()) return json.Take();
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
