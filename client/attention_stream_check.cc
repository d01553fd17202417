#include "client/attention_stream_check.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "client/attention_values.h"
#include "client/crc32c.h"

namespace attune::internal {

AttentionStreamCheck::AttentionStreamCheck(const v1::AttentionMapResponse& header)
    : encoding_(header.encoding()) {
  if (header.shape().empty()) return;
  layers_.assign(header.layers().begin(), header.layers().end());
  rows_per_head_ = header.shape(2);
  rows_per_layer_ = header.shape(1) * header.shape(2);
  columns_ = header.shape(3);
}

absl::StatusOr<AttentionStreamCheck> AttentionStreamCheck::Create(
    const v1::AttentionMapResponse& header) {
  bool fits = header.shape().empty();
  if (header.shape_size() == 4) {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    fits = header.shape(0) == static_cast<uint64_t>(header.layers_size());
    for (const uint64_t size : header.shape()) fits = fits && size > 0 && size <= kMost;
  }
  if (fits) return AttentionStreamCheck(header);
  return absl::InternalError(absl::StrCat("the server announced a map of ", header.layers_size(),
                                          " layers with ", header.shape_size(),
                                          " axes, which is not a shape of theirs"));
}

absl::Status AttentionStreamCheck::Take(const v1::AttentionChunk& chunk) {
  if (has_all_rows()) return absl::InternalError("the server sent more rows than it announced");
  const uint32_t layer = layers_[rows_ / rows_per_layer_];
  const uint64_t row = rows_ % rows_per_layer_;
  const uint64_t first = chunk.first_row() < rows_per_head_
                             ? uint64_t{chunk.first_head()} * rows_per_head_ + chunk.first_row()
                             : std::numeric_limits<uint64_t>::max();
  if (chunk.layer() != layer || first != row) {
    return absl::InternalError(absl::StrCat(
        "the server sent layer ", chunk.layer(), " from head ", chunk.first_head(), " row ",
        chunk.first_row(), " on, where row ", row, " of layer ", layer, " was due"));
  }
  if (chunk.rows() == 0 || chunk.rows() > rows_per_layer_ - row) {
    return absl::InternalError(absl::StrCat("the server sent ", chunk.rows(), " rows of layer ",
                                            layer, ", of which ", rows_per_layer_ - row,
                                            " were left"));
  }
  absl::Status status = CheckChunkArrays(chunk, columns_, encoding_);
  if (!status.ok()) return status;
  rows_ += chunk.rows();
  ++chunks_;
  crc32c_ = ExtendCrc32c(crc32c_, chunk.data());
  return absl::OkStatus();
}

absl::Status AttentionStreamCheck::Finish(const v1::AttentionTrailer& trailer) const {
  if (!has_all_rows() || trailer.rows() != rows_ || trailer.chunks() != chunks_) {
    return absl::DataLossError(absl::StrCat("the stream brought ", rows_, " rows in ", chunks_,
                                            " chunks of the ", rows_per_layer_ * layers_.size(),
                                            " rows of the map; the server counted ", trailer.rows(),
                                            " rows in ", trailer.chunks(), " chunks"));
  }
  if (trailer.crc32c() != crc32c_) {
    return absl::DataLossError(
        absl::StrCat("the stream's bytes are not those that were sent: its "
                     "CRC-32C is ",
                     crc32c_, ", the server's ", trailer.crc32c()));
  }
  return absl::OkStatus();
}

}  // namespace attune::internal
