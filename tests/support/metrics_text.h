// The text of /metrics, for tests that ask it for a number.
#ifndef ATTUNE_TESTS_SUPPORT_METRICS_TEXT_H_
#define ATTUNE_TESTS_SUPPORT_METRICS_TEXT_H_

#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace attune::testing {

// The value of each series, by its name and labels as they are written.
inline std::map<std::string, double> ParseMetrics(const std::string& text) {
  std::map<std::string, double> values;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const size_t space = line.rfind(' ');
    if (line[0] == '#' || space == absl::string_view::npos) continue;
    double value = 0;
    if (absl::SimpleAtod(line.substr(space + 1), &value)) {
      values[std::string(line.substr(0, space))] = value;
    }
  }
  return values;
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_METRICS_TEXT_H_
