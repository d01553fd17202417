#include "client/cli/enum_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace attune::cli::internal {
namespace {

using google::protobuf::EnumDescriptor;

constexpr absl::string_view kUnspecified = "unspecified";

// The proto's style gives the value 0 of every enum the name PREFIX_UNSPECIFIED.
std::string ShortName(const EnumDescriptor& descriptor, absl::string_view name) {
  absl::string_view prefix = descriptor.FindValueByNumber(0)->name();
  absl::ConsumeSuffix(&prefix, "UNSPECIFIED");
  absl::ConsumePrefix(&name, prefix);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

}  // namespace

std::vector<std::string> EnumNames(const EnumDescriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    std::string name = ShortName(descriptor, descriptor.value(i)->name());
    if (name != kUnspecified) names.push_back(std::move(name));
  }
  return names;
}

int EnumValue(const EnumDescriptor& descriptor, absl::string_view name) {
  for (int i = 0; i < descriptor.value_count(); ++i) {
    if (ShortName(descriptor, descriptor.value(i)->name()) == name) {
      return descriptor.value(i)->number();
    }
  }
  return 0;
}

std::string EnumName(const EnumDescriptor& descriptor, int value) {
  const auto* known = descriptor.FindValueByNumber(value);
  return known == nullptr ? absl::StrCat(value) : ShortName(descriptor, known->name());
}

}  // namespace attune::cli::internal
