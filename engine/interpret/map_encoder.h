// Maps as bytes.
#ifndef ATTUNE_ENGINE_INTERPRET_MAP_ENCODER_H_
#define ATTUNE_ENGINE_INTERPRET_MAP_ENCODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/interpret/map_query.h"
#include "engine/tensor/matrix.h"

namespace attune {

// Matrices one after the other, row-major. Numbers of several bytes are little-endian.
struct MapBytes {
  std::string data;         // f32, f16, or u8 times the row's scale
  std::string row_scales;   // f32, one per row; of kU8 only
  std::string row_lengths;  // u16, cells of each row; with sparsity only, as `columns`
  std::string columns;      // u16, the column of each cell of `data`
  std::string kept_mass;    // f32, one per row; empty if no row lost anything
};

// Appends matrices to a MapBytes. Thread-compatible.
class MapEncoder {
 public:
  MapEncoder(MapEncoding encoding, std::optional<MapSparsity> sparsity)
      : encoding_(encoding), sparsity_(sparsity) {}

  // `kept_mass` [rows] is what the rows had of their whole before; an empty one is not recorded.
  // kInternal if a value is not finite, kInvalidArgument for one that f16 cannot hold.
  absl::Status Append(ConstMatrixView map, absl::Span<const float> kept_mass);

  // What was appended since the last call.
  MapBytes Take() { return std::exchange(bytes_, {}); }

 private:
  absl::Status AppendRow(absl::Span<const float> row);
  // Appends the cells that sparsity leaves, and returns the share of the row's sum they have.
  absl::Status AppendSparseRow(absl::Span<const float> row, double& share);

  const MapEncoding encoding_;
  const std::optional<MapSparsity> sparsity_;
  MapBytes bytes_;
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_INTERPRET_MAP_ENCODER_H_
