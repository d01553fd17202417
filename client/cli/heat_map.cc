#include "client/cli/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
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

// What one cell shows: a level of the scale from 0, or the lowest value if that is negative, to the
// largest.
class Shading {
 public:
  Shading(absl::Span<const float> values, bool color) : color_(color) {
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      lowest_ = std::min(lowest_, double{value});
      largest_ = std::max(largest_, double{value});
    }
  }

  std::string Cell(float value) const { return LevelCell(LevelOf(value)); }

  std::string Legend() const {
    std::vector<std::string> parts;
    for (size_t level = 0; level < levels(); ++level) {
      const double from = lowest_ + Range() * static_cast<double>(level) / Count();
      parts.push_back(absl::StrFormat("%s %.2f", LevelCell(level), from));
    }
    // From 0.00 on is the blank shade, which needs no entry.
    if (!color_ && lowest_ == 0) parts.erase(parts.begin());
    return absl::StrCat(absl::StrJoin(parts, color_ ? " " : "  "), "+");
  }

 private:
  size_t levels() const { return color_ ? kColors.size() : kShades.size(); }
  double Count() const { return static_cast<double>(levels()); }
  double Range() const { return largest_ - lowest_; }
  size_t LevelOf(float value) const {
    const double height = double{value} - lowest_;
    if (!(Range() > 0) || !(height > 0)) return 0;
    return std::min(static_cast<size_t>(height / Range() * Count()), levels() - 1);
  }
  std::string LevelCell(size_t level) const {
    return color_ ? absl::StrCat("\x1b[48;5;", kColors[level], "m  \x1b[0m") : kShades[level];
  }

  double lowest_ = 0;
  double largest_ = 0;
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

// The numbers of the `count` largest values, those that are not finite last.
std::vector<size_t> Strongest(absl::Span<const float> values, size_t count) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  count = std::min(count, order.size());
  const auto strength = [values](size_t i) {
    return std::isfinite(values[i]) ? double{values[i]} : -HUGE_VAL;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [strength](size_t a, size_t b) {
                      return strength(a) != strength(b) ? strength(a) > strength(b) : a < b;
                    });
  order.resize(count);
  return order;
}

std::string Picture(const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                    absl::Span<const float> values, const HeatMapStyle& style) {
  const Shading shading(values, style.color);
  std::string text = Header(keys);
  for (size_t row = 0; row < queries.size(); ++row) {
    const absl::Span<const float> line = values.subspan(row * keys.size(), keys.size());
    text += PadLeft(Label(queries[row]), kLabelWidth) + std::string(kGapWidth, ' ');
    for (const float value : line) text += shading.Cell(value);
    const size_t strongest = Strongest(line, 1).front();
    absl::StrAppendFormat(&text, "  %.2f %s\n", line[strongest], Label(keys[strongest]));
  }
  absl::StrAppend(&text, "\n", shading.Legend(), "\nEach row ends with its largest value.\n");
  return text;
}

std::string List(const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                 absl::Span<const float> values, const HeatMapStyle& style) {
  std::string text = absl::StrFormat(
      "%d columns are too many for a picture of width %d.\nThe three that each row gives most "
      "to:\n",
      keys.size(), style.width);
  for (size_t row = 0; row < queries.size(); ++row) {
    const absl::Span<const float> line = values.subspan(row * keys.size(), keys.size());
    std::string entry = absl::StrFormat("%4d %s ", row, PadRight(Label(queries[row]), kLabelWidth));
    for (const size_t key : Strongest(line, kListedKeys)) {
      absl::StrAppendFormat(&entry, " %.2f %d:%s", line[key], key, Label(keys[key]));
    }
    absl::StrAppend(&text, FitWidth(entry, style.width), "\n");
  }
  return text;
}

}  // namespace

int MaxHeatMapTokens(int width) { return std::max(0, (width - kFixedWidth) / kCellWidth); }

std::string RenderHeatMap(const std::vector<std::string>& queries,
                          const std::vector<std::string>& keys, absl::Span<const float> values,
                          const HeatMapStyle& style) {
  if (queries.empty() || keys.empty()) return "";
  const bool fits = keys.size() <= static_cast<size_t>(MaxHeatMapTokens(style.width));
  return (fits ? Picture : List)(PrintableTokens(queries), PrintableTokens(keys), values, style);
}

}  // namespace attune::cli
