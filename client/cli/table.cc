#include "client/cli/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/display.h"

namespace attune::cli {
namespace {

constexpr const char* kColumnGap = "  ";

}  // namespace

void Table::AddRow(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  for (size_t i = 0; i < columns_.size(); ++i) {
    std::string cell = i < cells.size() ? Printable(cells[i]) : "";
    if (columns_[i].max_width > 0) cell = FitWidth(cell, columns_[i].max_width);
    row.push_back(std::move(cell));
  }
  rows_.push_back(std::move(row));
}

std::string Table::ToString() const {
  std::vector<std::string> header;
  std::vector<int> widths;
  bool has_header = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    header.push_back(columns_[i].name);
    has_header = has_header || !columns_[i].name.empty();
    int width = DisplayWidth(columns_[i].name);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
  }
  std::string text;
  if (has_header) text += FormatRow(header, widths);
  for (const auto& row : rows_) text += FormatRow(row, widths);
  return text;
}

std::string Table::FormatRow(const std::vector<std::string>& cells,
                             const std::vector<int>& widths) const {
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) line += kColumnGap;
    line += columns_[i].align == Align::kRight ? PadLeft(cells[i], widths[i])
                                               : PadRight(cells[i], widths[i]);
  }
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(line), "\n");
}

}  // namespace attune::cli
