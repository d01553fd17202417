#include "client/cli/matrix_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/table.h"

namespace attune::cli {
namespace {

constexpr size_t kMaxRows = 12;
constexpr size_t kCellWidth = 12;  // the widest number and the gap to the next column
constexpr double kExponentFrom = 1e6;
constexpr double kExponentBelow = 1e-4;

}  // namespace

std::string FormatNumber(double value) {
  if (!std::isfinite(value)) return absl::StrCat(value);
  const double size = std::abs(value);
  if (size != 0 && (size >= kExponentFrom || size < kExponentBelow)) {
    return absl::StrFormat("%.3e", value);
  }
  std::string text = absl::StrFormat("%.4f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string MatrixText(absl::string_view title, absl::Span<const float> values, size_t rows,
                       size_t cols, int width) {
  const size_t fitting = std::max<size_t>(1, static_cast<size_t>(width) / kCellWidth);
  const size_t shown_cols = std::min(cols, fitting);
  const size_t shown_rows = std::min(rows, kMaxRows);
  std::vector<Column> columns(shown_cols + 1, {.name = "", .align = Align::kRight});
  Table table(columns);
  for (size_t row = 0; row < shown_rows; ++row) {
    std::vector<std::string> cells = {""};  // indents the numbers under their title
    for (size_t col = 0; col < shown_cols; ++col) {
      cells.push_back(FormatNumber(double{values[row * cols + col]}));
    }
    table.AddRow(cells);
  }
  std::string text = absl::StrFormat("%s  [%d x %d]\n%s", title, rows, cols, table.ToString());
  if (shown_rows < rows || shown_cols < cols) {
    absl::StrAppendFormat(&text, "  (first %d rows, first %d columns; --format json shows all)\n",
                          shown_rows, shown_cols);
  }
  return text;
}

}  // namespace attune::cli
