// One attention matrix as text for a terminal: who attends to whom.
#ifndef ATTUNE_CLIENT_CLI_HEAT_MAP_H_
#define ATTUNE_CLIENT_CLI_HEAT_MAP_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace attune::cli {

struct HeatMapStyle {
  int width = 80;      // columns of the terminal
  bool color = false;  // 256-colour backgrounds instead of ░▒▓█
};

// The most keys whose picture fits in `width` columns.
int MaxHeatMapTokens(int width);

// `values` [queries, keys], row-major; row = from, column = to; what is not finite is left blank.
// Draws a picture with its legend, whose scale begins at 0 or below; where that does not fit the
// width, lists the three strongest keys of each query. Names may be any bytes. Lines end in '\n'
// and stay within the width, if that is at least 64.
std::string RenderHeatMap(const std::vector<std::string>& queries,
                          const std::vector<std::string>& keys, absl::Span<const float> values,
                          const HeatMapStyle& style);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_HEAT_MAP_H_
