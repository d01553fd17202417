#include "client/cli/head_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/enum_names.h"
#include "client/cli/table.h"

namespace attune::cli {
namespace {

using google::protobuf::FieldDescriptor;

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

// All fields in the proto's order: one that it gains is there at once.
std::vector<const FieldDescriptor*> Fields() {
  const google::protobuf::Descriptor& descriptor = *v1::HeadSummary::descriptor();
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < descriptor.field_count(); ++i) fields.push_back(descriptor.field(i));
  return fields;
}

double Number(const v1::HeadSummary& head, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *v1::HeadSummary::GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    return reflection.GetUInt32(head, &field);
  }
  return double{reflection.GetFloat(head, &field)};
}

// "" for a head that no label fits.
std::string LabelOf(const v1::HeadSummary& head) {
  return head.label() == v1::HEAD_LABEL_UNSPECIFIED ? "" : EnumName(head.label());
}

std::string FieldText(const v1::HeadSummary& head, const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    return v1::HeadSummary::GetReflection()->GetBool(head, &field) ? "true" : "false";
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return LabelOf(head);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    return absl::StrCat(v1::HeadSummary::GetReflection()->GetUInt32(head, &field));
  }
  std::string text;
  AppendFloat(v1::HeadSummary::GetReflection()->GetFloat(head, &field), text);
  return text;
}

}  // namespace

std::vector<std::string> HeadFieldNames() {
  std::vector<std::string> names;
  for (const FieldDescriptor* field : Fields()) {
    if (IsNumber(*field)) names.push_back(field->name());
  }
  return names;
}

void SortHeads(absl::string_view field, HeadSummaries& heads) {
  const bool ascending = field == "layer" || field == "head";
  const FieldDescriptor& by = *v1::HeadSummary::descriptor()->FindFieldByName(std::string(field));
  std::sort(heads.begin(), heads.end(), [&](const v1::HeadSummary& a, const v1::HeadSummary& b) {
    const double left = Number(a, by);
    const double right = Number(b, by);
    if (left != right) return ascending ? left < right : left > right;
    return std::pair(a.layer(), a.head()) < std::pair(b.layer(), b.head());
  });
}

std::string HeadTable(const HeadSummaries& heads) {
  const struct {
    const char* name;
    float (v1::HeadSummary::*value)() const;
    int decimals;
  } kColumns[] = {
      {"self", &v1::HeadSummary::self_mass, 2},
      {"prev", &v1::HeadSummary::previous_mass, 2},
      {"next", &v1::HeadSummary::next_mass, 2},
      {"cls", &v1::HeadSummary::cls_mass, 2},
      {"sep", &v1::HeadSummary::separator_mass, 2},
      {"punct", &v1::HeadSummary::punctuation_mass, 2},
      {"nats", &v1::HeadSummary::entropy, 2},
      {"dist", &v1::HeadSummary::distance, 1},
      {"conf", &v1::HeadSummary::confidence, 2},
  };
  std::vector<Column> columns = {{.name = "layer", .align = Align::kRight},
                                 {.name = "head", .align = Align::kRight}};
  for (const auto& column : kColumns) {
    columns.push_back({.name = column.name, .align = Align::kRight});
  }
  columns.push_back({.name = "label"});
  Table table(columns);
  for (const v1::HeadSummary& head : heads) {
    std::vector<std::string> cells = {absl::StrCat(head.layer()), absl::StrCat(head.head())};
    for (const auto& column : kColumns) {
      cells.push_back(absl::StrFormat("%.*f", column.decimals, (head.*column.value)()));
    }
    cells.push_back(LabelOf(head));
    table.AddRow(cells);
  }
  return table.ToString();
}

std::string HeadCsv(const HeadSummaries& heads) {
  std::vector<std::string> names;
  for (const FieldDescriptor* field : Fields()) names.push_back(field->name());
  std::string text = absl::StrCat(absl::StrJoin(names, ","), "\n");
  for (const v1::HeadSummary& head : heads) {
    std::vector<std::string> cells;
    for (const FieldDescriptor* field : Fields()) cells.push_back(FieldText(head, *field));
    absl::StrAppend(&text, absl::StrJoin(cells, ","), "\n");
  }
  return text;
}

Json HeadsToJson(const HeadSummaries& heads) {
  Json json = Json::array();
  for (const v1::HeadSummary& head : heads) {
    Json entry = Json::object();
    for (const FieldDescriptor* field : Fields()) {
      // Through text, so that a float has no more digits than it needs.
      const std::string text = FieldText(head, *field);
      const bool is_name = field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
      entry[field->name()] = is_name ? Json(text) : Json::parse(text);
    }
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace attune::cli
