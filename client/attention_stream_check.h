// Whether the parts of a StreamAttentionMap are the map that its header announces. Private to the
// client.
#ifndef ATTUNE_CLIENT_ATTENTION_STREAM_CHECK_H_
#define ATTUNE_CLIENT_ATTENTION_STREAM_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attune/v1/attune.pb.h"

namespace attune::internal {

// Keeps counts, not the map. Thread-compatible.
class AttentionStreamCheck {
 public:
  // kInternal if the header's shape is not that of its layers.
  static absl::StatusOr<AttentionStreamCheck> Create(const v1::AttentionMapResponse& header);

  // kInternal if `chunk` does not go on where the last one ended, or its arrays are not of its
  // rows.
  absl::Status Take(const v1::AttentionChunk& chunk);

  // Whether the last chunk was the last of its layer.
  bool between_layers() const { return rows_ % rows_per_layer_ == 0; }
  bool has_all_rows() const { return rows_ == rows_per_layer_ * layers_.size(); }

  // kDataLoss if the trailer counted or summed up something else.
  absl::Status Finish(const v1::AttentionTrailer& trailer) const;

 private:
  explicit AttentionStreamCheck(const v1::AttentionMapResponse& header);

  // Of a map without matrices all are empty or 0, but rows_per_layer_ is 1.
  std::vector<uint32_t> layers_;
  uint64_t rows_per_head_ = 0;
  uint64_t rows_per_layer_ = 1;
  uint64_t columns_ = 0;
  v1::AttentionEncoding encoding_;

  uint64_t rows_ = 0;
  uint64_t chunks_ = 0;
  uint32_t crc32c_ = 0;
};

}  // namespace attune::internal

#endif  // ATTUNE_CLIENT_ATTENTION_STREAM_CHECK_H_
