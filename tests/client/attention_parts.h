// A map as a stream sends it: header, chunks and trailer, for tests to send or to break.
#ifndef ATTUNE_TESTS_CLIENT_ATTENTION_PARTS_H_
#define ATTUNE_TESTS_CLIENT_ATTENTION_PARTS_H_

#include <cstdint>
#include <vector>

#include "attune/v1/attune.pb.h"

namespace attune::testing {

// `map` [layers, heads, queries, keys] in f32, its statistics and mixing ratio in the trailer; at
// most `rows_per_chunk` rows in a chunk. A map without a shape has no chunks.
std::vector<v1::StreamAttentionMapResponse> StreamParts(const v1::AttentionMapResponse& map,
                                                        uint64_t rows_per_chunk);

// A map of so many layers, heads, queries and keys whose values are 0, 1, 2 ...
v1::AttentionMapResponse CountingMap(uint64_t layers, uint64_t heads, uint64_t queries,
                                     uint64_t keys);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_CLIENT_ATTENTION_PARTS_H_
