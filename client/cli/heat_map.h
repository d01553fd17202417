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

// The most tokens whose picture fits in `width` columns.
int MaxHeatMapTokens(int width);

// `weights` [tokens, tokens], row-major, not negative; row = from, column = to. Draws a picture
// with its legend; where that does not fit the width, lists the three strongest keys of each token.
// Tokens may be any bytes. Lines end in '\n' and stay within the width, if that is at least 64.
std::string RenderHeatMap(const std::vector<std::string>& tokens, absl::Span<const float> weights,
                          const HeatMapStyle& style);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_HEAT_MAP_H_
