#include "client/attention_values.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace attune {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

constexpr uint64_t kScaleBytes = sizeof(float);
constexpr uint64_t kMassBytes = sizeof(float);
constexpr uint64_t kIndexBytes = sizeof(uint16_t);
constexpr uint64_t kMostCells = uint64_t{1} << 28;          // a GiB of floats
constexpr uint64_t kMostSparseColumns = uint64_t{1} << 16;  // an index has two bytes

// Some whole rows of a map. The arrays are borrowed.
struct Rows {
  uint64_t rows = 0;
  uint64_t columns = 0;
  v1::AttentionEncoding encoding = v1::ATTENTION_ENCODING_F32;
  absl::string_view data = {};
  absl::string_view row_scales = {};
  absl::string_view kept_mass = {};
  const v1::SparseCells* sparse = nullptr;  // null: every cell is in `data`
};

Rows RowsOf(const v1::AttentionChunk& chunk, uint64_t columns, v1::AttentionEncoding encoding) {
  return {.rows = chunk.rows(),
          .columns = columns,
          .encoding = encoding,
          .data = chunk.data(),
          .row_scales = chunk.row_scales(),
          .kept_mass = chunk.kept_mass(),
          .sparse = chunk.has_sparse() ? &chunk.sparse() : nullptr};
}

template <typename Value>
Value ReadAt(absl::string_view bytes, uint64_t index) {
  Value value;
  std::memcpy(&value, bytes.data() + index * sizeof(Value), sizeof(Value));
  return value;
}

std::optional<uint64_t> ValueBytes(v1::AttentionEncoding encoding) {
  switch (encoding) {
    case v1::ATTENTION_ENCODING_F32:
      return sizeof(float);
    case v1::ATTENTION_ENCODING_F16:
      return sizeof(uint16_t);
    case v1::ATTENTION_ENCODING_U8:
      return sizeof(uint8_t);
    default:
      return std::nullopt;
  }
}

// Whether `bytes` is an array of so many elements; dividing what is there, instead of multiplying
// what is claimed, cannot overflow.
bool HasElements(absl::string_view bytes, uint64_t count, uint64_t element_bytes) {
  return bytes.size() % element_bytes == 0 && bytes.size() / element_bytes == count;
}

// IEEE 754 binary16, exactly.
float HalfToFloat(uint16_t half) {
  constexpr int kFractionBits = 10;
  constexpr int kBias = 15;
  const int exponent = (half >> kFractionBits) & 0x1f;
  const int fraction = half & 0x3ff;
  float size = 0;
  if (exponent == 0x1f) {
    size = fraction == 0 ? std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(fraction), 1 - kBias - kFractionBits);
  } else {
    size = std::ldexp(static_cast<float>(fraction | 0x400), exponent - kBias - kFractionBits);
  }
  return (half & 0x8000) == 0 ? size : -size;
}

float CellValue(const Rows& rows, uint64_t cell, uint64_t row) {
  switch (rows.encoding) {
    case v1::ATTENTION_ENCODING_F16:
      return HalfToFloat(ReadAt<uint16_t>(rows.data, cell));
    case v1::ATTENTION_ENCODING_U8:
      return static_cast<float>(ReadAt<uint8_t>(rows.data, cell)) *
             ReadAt<float>(rows.row_scales, row);
    default:
      return ReadAt<float>(rows.data, cell);
  }
}

// The number of cells in `data`; nullopt if the lengths or columns of sparse rows are wrong.
std::optional<uint64_t> CountCells(const Rows& rows) {
  if (rows.sparse == nullptr) {
    // A chunk of more cells than bytes is refused without multiplying.
    const bool fits = rows.columns == 0 || rows.rows <= rows.data.size() / rows.columns;
    return fits ? std::optional(rows.rows * rows.columns) : std::nullopt;
  }
  const std::string& lengths = rows.sparse->row_lengths();
  if (rows.columns > kMostSparseColumns) return std::nullopt;
  if (!HasElements(lengths, rows.rows, kIndexBytes)) return std::nullopt;
  uint64_t cells = 0;
  for (uint64_t row = 0; row < rows.rows; ++row) {
    const uint64_t length = ReadAt<uint16_t>(lengths, row);
    if (length > rows.columns) return std::nullopt;
    cells += length;
  }
  const std::string& columns = rows.sparse->columns();
  if (!HasElements(columns, cells, kIndexBytes)) return std::nullopt;
  for (uint64_t cell = 0; cell < cells; ++cell) {
    if (ReadAt<uint16_t>(columns, cell) >= rows.columns) return std::nullopt;
  }
  return cells;
}

absl::Status NotItsShape(absl::string_view data) {
  return absl::InternalError(absl::StrCat("the server sent ", data.size(),
                                          " bytes of attention, which is not what its shape says"));
}

absl::Status CheckRows(const Rows& rows) {
  const std::optional<uint64_t> value_bytes = ValueBytes(rows.encoding);
  if (!value_bytes) {
    return absl::InternalError(absl::StrCat("the server sent attention in encoding ",
                                            static_cast<int>(rows.encoding),
                                            ", which this client does not know"));
  }
  const std::optional<uint64_t> cells = CountCells(rows);
  const uint64_t scales = rows.encoding == v1::ATTENTION_ENCODING_U8 ? rows.rows : 0;
  const bool fits = cells.has_value() && HasElements(rows.data, *cells, *value_bytes) &&
                    HasElements(rows.row_scales, scales, kScaleBytes) &&
                    (rows.kept_mass.empty() || HasElements(rows.kept_mass, rows.rows, kMassBytes));
  return fits ? absl::OkStatus() : NotItsShape(rows.data);
}

// REQUIRES: checked. kOutOfRange if a few sparse cells stand for more than kMostCells.
absl::StatusOr<std::vector<float>> Decode(const Rows& rows) {
  // A dense map has no more cells than it has bytes.
  if (rows.columns > 0 && rows.rows > kMostCells / rows.columns) {
    return absl::OutOfRangeError(absl::StrCat("a map of ", rows.rows, " rows of ", rows.columns,
                                              " is too large to write out every cell; at most ",
                                              kMostCells, " are"));
  }
  const float absent = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(rows.rows * rows.columns, rows.sparse != nullptr ? absent : 0.0f);
  uint64_t cell = 0;
  for (uint64_t row = 0; row < rows.rows; ++row) {
    const uint64_t length =
        rows.sparse == nullptr ? rows.columns : ReadAt<uint16_t>(rows.sparse->row_lengths(), row);
    for (uint64_t i = 0; i < length; ++i, ++cell) {
      const uint64_t column =
          rows.sparse == nullptr ? i : ReadAt<uint16_t>(rows.sparse->columns(), cell);
      values[row * rows.columns + column] = CellValue(rows, cell, row);
    }
  }
  return values;
}

}  // namespace

namespace internal {

absl::Status CheckChunkArrays(const v1::AttentionChunk& chunk, uint64_t columns,
                              v1::AttentionEncoding encoding) {
  return CheckRows(RowsOf(chunk, columns, encoding));
}

}  // namespace internal

absl::StatusOr<std::vector<float>> AttentionValues(const v1::AttentionMapResponse& map) {
  if (map.shape().empty() && map.data().empty()) return std::vector<float>();
  if (map.shape_size() != 4 || map.shape(3) == 0) return NotItsShape(map.data());
  Rows rows = {.rows = 1,
               .columns = map.shape(3),
               .encoding = map.encoding(),
               .data = map.data(),
               .row_scales = map.row_scales(),
               .kept_mass = map.kept_mass(),
               .sparse = map.has_sparse() ? &map.sparse() : nullptr};
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t size = map.shape(axis);
    if (size == 0 || __builtin_mul_overflow(rows.rows, size, &rows.rows)) {
      return NotItsShape(map.data());
    }
  }
  if (absl::Status status = CheckRows(rows); !status.ok()) return status;
  return Decode(rows);
}

absl::StatusOr<std::vector<float>> AttentionLayerValues(const v1::AttentionMapResponse& map,
                                                        const v1::AttentionChunk& layer) {
  const Rows rows = RowsOf(layer, map.shape_size() == 4 ? map.shape(3) : 0, map.encoding());
  if (absl::Status status = CheckRows(rows); !status.ok()) return status;
  return Decode(rows);
}

}  // namespace attune
