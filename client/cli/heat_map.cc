#include "client/cli/heat_map.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/display.h"

namespace attune::cli {
namespace {

// A row: "    [CLS]  ░░▒▒██  0.42 [SEP]".
constexpr int kLabelWidth = 12;
constexpr int kCellWidth = 2;
constexpr int kGapWidth = 2;
constexpr int kMaximumWidth = 5;  // "0.42 "
constexpr int kFixedWidth = 2 * kLabelWidth + 2 * kGapWidth + kMaximumWidth;
constexpr size_t kHeaderHeight = 10;  // of the column names, which run downwards
constexpr size_t kListedKeys = 3;

constexpr std::array<const char*, 5> kShades = {"  ", "░░", "▒▒", "▓▓", "██"};
// Background colours of xterm's 256, dark to bright.
constexpr std::array<int, 8> kColors = {234, 54, 60, 24, 30, 35, 112, 226};

// What one cell shows: a level of the scale from 0 to the largest weight.
class Shading {
 public:
  Shading(float largest, bool color) : largest_(largest), color_(color) {}

  std::string Cell(float weight) const { return LevelCell(LevelOf(weight)); }

  std::string Legend() const {
    std::vector<std::string> parts;
    for (size_t level = 0; level < levels(); ++level) {
      const double from = double{largest_} * static_cast<double>(level) / Count();
      parts.push_back(absl::StrFormat("%s %.2f", LevelCell(level), from));
    }
    // From 0.00 on is the blank shade, which needs no entry.
    if (!color_) parts.erase(parts.begin());
    return absl::StrCat(absl::StrJoin(parts, color_ ? " " : "  "), "+");
  }

 private:
  size_t levels() const { return color_ ? kColors.size() : kShades.size(); }
  double Count() const { return static_cast<double>(levels()); }
  size_t LevelOf(float weight) const {
    if (!(largest_ > 0) || !(weight > 0)) return 0;
    const double level = double{weight} / double{largest_} * Count();
    return std::min(static_cast<size_t>(level), levels() - 1);
  }
  std::string LevelCell(size_t level) const {
    return color_ ? absl::StrCat("\x1b[48;5;", kColors[level], "m  \x1b[0m") : kShades[level];
  }

  const float largest_;
  const bool color_;
};

std::vector<std::string> PrintableTokens(const std::vector<std::string>& tokens) {
  std::vector<std::string> result;
  result.reserve(tokens.size());
  for (const std::string& token : tokens) {
    std::string text = Printable(token);
    result.push_back(text.empty() ? "''" : text);
  }
  return result;
}

std::string Label(const std::string& token) { return FitWidth(token, kLabelWidth); }

// The tokens' names downwards, their ends on the last line.
std::string Header(const std::vector<std::string>& tokens) {
  std::vector<std::vector<std::string>> names;
  size_t height = 0;
  for (const std::string& token : tokens) {
    names.push_back(SplitCells(token));
    if (names.back().size() > kHeaderHeight) {
      names.back().resize(kHeaderHeight - 1);
      names.back().push_back("…");
    }
    height = std::max(height, names.back().size());
  }
  std::string header;
  for (size_t line = 0; line < height; ++line) {
    const absl::string_view corner = line + 1 == height ? "from \\ to" : "";
    std::string text = PadLeft(corner, kLabelWidth) + std::string(kGapWidth, ' ');
    for (const auto& name : names) {
      const size_t blank = height - name.size();
      text += PadRight(line < blank ? "" : name[line - blank], kCellWidth);
    }
    absl::StrAppend(&header, absl::StripTrailingAsciiWhitespace(text), "\n");
  }
  return header;
}

std::string Picture(const std::vector<std::string>& tokens, absl::Span<const float> weights,
                    const HeatMapStyle& style) {
  const size_t n = tokens.size();
  const Shading shading(*std::max_element(weights.begin(), weights.end()), style.color);
  std::string text = Header(tokens);
  for (size_t row = 0; row < n; ++row) {
    const absl::Span<const float> line = weights.subspan(row * n, n);
    text += PadLeft(Label(tokens[row]), kLabelWidth) + std::string(kGapWidth, ' ');
    for (const float weight : line) text += shading.Cell(weight);
    const auto strongest = std::max_element(line.begin(), line.end());
    absl::StrAppendFormat(&text, "  %.2f %s\n", *strongest,
                          Label(tokens[static_cast<size_t>(strongest - line.begin())]));
  }
  absl::StrAppend(&text, "\n", shading.Legend(), "\nEach row ends with its largest weight.\n");
  return text;
}

std::string List(const std::vector<std::string>& tokens, absl::Span<const float> weights,
                 const HeatMapStyle& style) {
  const size_t n = tokens.size();
  std::string text = absl::StrFormat(
      "%d tokens are too many for a picture in %d columns.\nThe three that each attends to most:\n",
      n, style.width);
  std::vector<size_t> keys(n);
  for (size_t row = 0; row < n; ++row) {
    const absl::Span<const float> line = weights.subspan(row * n, n);
    std::iota(keys.begin(), keys.end(), size_t{0});
    const size_t listed = std::min(kListedKeys, n);
    std::partial_sort(
        keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(listed), keys.end(),
        [line](size_t a, size_t b) { return line[a] != line[b] ? line[a] > line[b] : a < b; });
    std::string entry = absl::StrFormat("%4d %s ", row, PadRight(Label(tokens[row]), kLabelWidth));
    for (size_t k = 0; k < listed; ++k) {
      absl::StrAppendFormat(&entry, " %.2f %d:%s", line[keys[k]], keys[k], Label(tokens[keys[k]]));
    }
    absl::StrAppend(&text, FitWidth(entry, style.width), "\n");
  }
  return text;
}

}  // namespace

int MaxHeatMapTokens(int width) { return std::max(0, (width - kFixedWidth) / kCellWidth); }

std::string RenderHeatMap(const std::vector<std::string>& tokens, absl::Span<const float> weights,
                          const HeatMapStyle& style) {
  if (tokens.empty()) return "";
  const std::vector<std::string> names = PrintableTokens(tokens);
  const bool fits = tokens.size() <= static_cast<size_t>(MaxHeatMapTokens(style.width));
  return fits ? Picture(names, weights, style) : List(names, weights, style);
}

}  // namespace attune::cli
