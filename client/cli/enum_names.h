// The values of proto enums under short names, as flags and files spell them: AttentionMatrix'
// ATTENTION_MATRIX_RES_LN_NORM is "res-ln-norm". A value that the proto gains is there at once.
#ifndef ATTUNE_CLIENT_CLI_ENUM_NAMES_H_
#define ATTUNE_CLIENT_CLI_ENUM_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"

namespace attune::cli {
namespace internal {

std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& descriptor);
int EnumValue(const google::protobuf::EnumDescriptor& descriptor, absl::string_view name);
std::string EnumName(const google::protobuf::EnumDescriptor& descriptor, int value);

}  // namespace internal

// All but UNSPECIFIED, in the proto's order.
template <typename Enum>
std::vector<std::string> EnumNames() {
  return internal::EnumNames(*google::protobuf::GetEnumDescriptor<Enum>());
}

// REQUIRES: `name` is one of EnumNames.
template <typename Enum>
Enum EnumValue(absl::string_view name) {
  return static_cast<Enum>(internal::EnumValue(*google::protobuf::GetEnumDescriptor<Enum>(), name));
}

// "unspecified" for the value of that name, a number for one that this client does not know.
template <typename Enum>
std::string EnumName(Enum value) {
  return internal::EnumName(*google::protobuf::GetEnumDescriptor<Enum>(), value);
}

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_ENUM_NAMES_H_
