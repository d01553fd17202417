// Attention maps as numbers, whatever their encoding.
#ifndef ATTUNE_CLIENT_ATTENTION_VALUES_H_
#define ATTUNE_CLIENT_ATTENTION_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"

namespace attune {

// The values of `map.data()`: [layers, heads, queries, keys] of map.shape(), row-major. With
// sparsity the cells that were not sent are NaN. Empty for a map without matrices. kInternal if the
// arrays do not match the shape.
absl::StatusOr<std::vector<float>> AttentionValues(const v1::AttentionMapResponse& map);

// Likewise the values of one layer of a stream: [heads, queries, keys].
absl::StatusOr<std::vector<float>> AttentionLayerValues(const v1::AttentionMapResponse& map,
                                                        const v1::AttentionChunk& layer);

namespace internal {

// kInternal unless the arrays of `chunk` are those of its rows of `columns` cells.
absl::Status CheckChunkArrays(const v1::AttentionChunk& chunk, uint64_t columns,
                              v1::AttentionEncoding encoding);

}  // namespace internal
}  // namespace attune

#endif  // ATTUNE_CLIENT_ATTENTION_VALUES_H_
