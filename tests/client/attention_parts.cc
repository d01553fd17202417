#include "tests/client/attention_parts.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/base/crc32c.h"

namespace attune::testing {
namespace {

v1::AttentionChunk Chunk(const v1::AttentionMapResponse& map, uint64_t row, uint64_t rows) {
  const uint64_t rows_per_head = map.shape(2);
  const uint64_t rows_per_layer = map.shape(1) * rows_per_head;
  const uint64_t row_bytes = map.shape(3) * sizeof(float);
  v1::AttentionChunk chunk;
  chunk.set_layer(map.layers(static_cast<int>(row / rows_per_layer)));
  chunk.set_first_head(static_cast<uint32_t>(row % rows_per_layer / rows_per_head));
  chunk.set_first_row(static_cast<uint32_t>(row % rows_per_head));
  chunk.set_rows(static_cast<uint32_t>(rows));
  chunk.set_data(map.data().substr(row * row_bytes, rows * row_bytes));
  return chunk;
}

}  // namespace

std::vector<v1::StreamAttentionMapResponse> StreamParts(const v1::AttentionMapResponse& map,
                                                        uint64_t rows_per_chunk) {
  std::vector<v1::StreamAttentionMapResponse> parts(1);
  v1::AttentionMapResponse& header = *parts.front().mutable_header();
  header = map;
  header.clear_data();
  header.clear_statistics();
  header.clear_mixing_ratio();
  v1::StreamAttentionMapResponse last;
  v1::AttentionTrailer& trailer = *last.mutable_trailer();
  *trailer.mutable_statistics() = map.statistics();
  trailer.set_mixing_ratio(map.mixing_ratio());
  trailer.set_crc32c(ExtendCrc32c(0, map.data()));
  const uint64_t rows_per_layer = map.shape().empty() ? 0 : map.shape(1) * map.shape(2);
  const uint64_t rows = map.shape().empty() ? 0 : map.shape(0) * rows_per_layer;
  for (uint64_t row = 0; row < rows;) {
    const uint64_t left = rows_per_layer - row % rows_per_layer;
    const uint64_t taken = std::min(rows_per_chunk, left);
    *parts.emplace_back().mutable_chunk() = Chunk(map, row, taken);
    row += taken;
  }
  trailer.set_rows(rows);
  trailer.set_chunks(parts.size() - 1);
  parts.push_back(last);
  return parts;
}

v1::AttentionMapResponse CountingMap(uint64_t layers, uint64_t heads, uint64_t queries,
                                     uint64_t keys) {
  v1::AttentionMapResponse map;
  for (uint32_t layer = 0; layer < layers; ++layer) map.add_layers(layer);
  for (uint32_t head = 0; head < heads; ++head) map.add_heads(head);
  for (const uint64_t size : {layers, heads, queries, keys}) map.add_shape(size);
  map.set_matrix(v1::ATTENTION_MATRIX_WEIGHTS);
  map.set_encoding(v1::ATTENTION_ENCODING_F32);
  std::vector<float> values(layers * heads * queries * keys);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  map.set_data(bytes);
  return map;
}

}  // namespace attune::testing
