#include "client/cli/bertviz_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/json.h"

namespace attune::cli {
namespace {

// Four decimals, without zeros at the end: BertViz draws a value as an opacity, and one layer of
// 512 tokens has three million of them.
void AppendRounded(float value, std::string& out) {
  absl::StrAppendFormat(&out, "%.4f", value);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
}

void AppendRow(absl::Span<const float> row, std::string& out) {
  out += '[';
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ',';
    AppendRounded(row[i], out);
  }
  out += ']';
}

}  // namespace

std::optional<std::string> BertVizJson(const v1::AttentionMapResponse& map,
                                       absl::Span<const float> values,
                                       const std::vector<std::string>& names, size_t max_bytes) {
  const size_t rows = names.size();
  const size_t heads = static_cast<size_t>(map.shape(1));
  std::string out = "{\"attention\":[{\"name\":null,\"attn\":[";
  for (size_t row = 0; row * rows < values.size(); ++row) {
    const size_t head = row / rows;
    const bool first_of_head = row % rows == 0;
    const bool first_of_layer = first_of_head && head % heads == 0;
    if (first_of_head && row > 0) out += ']';
    if (first_of_layer && row > 0) out += ']';
    if (row > 0) out += ',';
    if (first_of_layer) out += '[';
    if (first_of_head) out += '[';
    AppendRow(values.subspan(row * rows, rows), out);
    if (out.size() > max_bytes) return std::nullopt;
  }
  const std::string tokens = DumpJson(names);
  const Json layers = std::vector<uint32_t>(map.layers().begin(), map.layers().end());
  absl::StrAppend(&out, "]]],\"left_text\":", tokens, ",\"right_text\":", tokens,
                  "}],\"include_layers\":", DumpJson(layers), ",\"default_filter\":\"0\"}");
  if (out.size() > max_bytes) return std::nullopt;
  return out;
}

}  // namespace attune::cli
