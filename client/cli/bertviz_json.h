// Attention as BertViz takes it (https://github.com/jessevig/bertviz), whose head_view and
// model_view are made from such an object.
#ifndef ATTUNE_CLIENT_CLI_BERTVIZ_JSON_H_
#define ATTUNE_CLIENT_CLI_BERTVIZ_JSON_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attune/v1/attune.pb.h"

namespace attune::cli {

// {"attention": [{"name", "attn" [layers][heads][rows][columns], "left_text", "right_text"}],
// "include_layers", "default_filter"}, with four decimals a value; `names` are the tokens. nullopt
// if it has more than `max_bytes`.
std::optional<std::string> BertVizJson(const v1::AttentionMapResponse& map,
                                       absl::Span<const float> values,
                                       const std::vector<std::string>& names, size_t max_bytes);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_BERTVIZ_JSON_H_
