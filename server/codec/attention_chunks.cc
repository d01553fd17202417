#include "server/codec/attention_chunks.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "engine/base/check.h"

namespace attune {
namespace {

// An upper bound of what a chunk's message holds besides its bytes: tags, lengths, numbers.
constexpr int64_t kFramingBytes = 256;

constexpr int64_t kScaleBytes = 4;
constexpr int64_t kMassBytes = 4;
constexpr int64_t kLengthBytes = 2;
constexpr int64_t kColumnBytes = 2;

// Elements [begin, begin + count) of `bytes`; nothing of an array that is not there.
std::string Part(const std::string& bytes, int64_t begin, int64_t count, int64_t element_bytes) {
  if (bytes.empty()) return {};
  return bytes.substr(static_cast<size_t>(begin * element_bytes),
                      static_cast<size_t>(count * element_bytes));
}

}  // namespace

AttentionChunks::AttentionChunks(const MapPlan& plan, int64_t layer, MapBytes maps)
    : plan_(plan),
      layer_(layer),
      maps_(std::move(maps)),
      rows_per_head_(plan.shape()[2]),
      rows_(plan.shape()[1] * plan.shape()[2]) {}

int64_t AttentionChunks::RowCells(int64_t row) const {
  if (maps_.row_lengths.empty()) return plan_.shape()[3];
  uint16_t length = 0;
  std::memcpy(&length, maps_.row_lengths.data() + row * kLengthBytes, sizeof(length));
  return length;
}

v1::AttentionChunk AttentionChunks::Next() {
  ATTUNE_CHECK(!done());
  const int64_t value_bytes = ValueBytes(plan_.query.encoding);
  const bool sparse = !maps_.row_lengths.empty();
  const int64_t cell_bytes = value_bytes + (sparse ? kColumnBytes : 0);
  const int64_t row_bytes = (maps_.row_scales.empty() ? 0 : kScaleBytes) +
                            (maps_.kept_mass.empty() ? 0 : kMassBytes) +
                            (sparse ? kLengthBytes : 0);
  int64_t rows = 0;
  int64_t cells = 0;
  int64_t bytes = kFramingBytes;
  while (row_ + rows < rows_) {
    const int64_t more = RowCells(row_ + rows);
    bytes += more * cell_bytes + row_bytes;
    if (rows > 0 && bytes > kMaxChunkBytes) break;
    ++rows;
    cells += more;
  }

  v1::AttentionChunk chunk;
  chunk.set_layer(static_cast<uint32_t>(layer_));
  chunk.set_first_head(static_cast<uint32_t>(row_ / rows_per_head_));
  chunk.set_first_row(static_cast<uint32_t>(row_ % rows_per_head_));
  chunk.set_rows(static_cast<uint32_t>(rows));
  chunk.set_data(Part(maps_.data, cell_, cells, value_bytes));
  chunk.set_row_scales(Part(maps_.row_scales, row_, rows, kScaleBytes));
  chunk.set_kept_mass(Part(maps_.kept_mass, row_, rows, kMassBytes));
  if (sparse) {
    chunk.mutable_sparse()->set_row_lengths(Part(maps_.row_lengths, row_, rows, kLengthBytes));
    chunk.mutable_sparse()->set_columns(Part(maps_.columns, cell_, cells, kColumnBytes));
  }
  row_ += rows;
  cell_ += cells;
  return chunk;
}

}  // namespace attune
