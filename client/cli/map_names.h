// What the axes of a map are, and what they are called.
#ifndef ATTUNE_CLIENT_CLI_MAP_NAMES_H_
#define ATTUNE_CLIENT_CLI_MAP_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"

namespace attune::cli {

// Whether a map of `matrix` is of all heads of a layer together.
bool MergesHeads(v1::AttentionMatrix matrix);

struct MapNames {
  // As many as shape[2] and shape[3]: tokens or words, with pool the first of each run, "embedding"
  // for the row it is pooled from, A and B for the mass of blocks.
  std::vector<std::string> queries;
  std::vector<std::string> keys;
};

// REQUIRES: the map has a shape. kInternal if its tokens and numbers are not those of its shape.
absl::StatusOr<MapNames> NamesOfMap(const v1::AttentionMapResponse& map);

// "layer 3, head 1", "layer 3, mean of heads 0, 1" or "layer 3" of map number `layer`, `head` along
// its axes. `query` is what was asked.
std::string MapTitle(const v1::AttentionMapResponse& map, const v1::AttentionQuery& query,
                     size_t layer, size_t head);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_MAP_NAMES_H_
