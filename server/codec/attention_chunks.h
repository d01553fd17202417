// StreamAttentionMap: a layer's maps as messages of at most 1 MiB.
#ifndef ATTUNE_SERVER_CODEC_ATTENTION_CHUNKS_H_
#define ATTUNE_SERVER_CODEC_ATTENTION_CHUNKS_H_

#include <cstdint>

#include "attune/v1/attune.pb.h"
#include "engine/engine.h"

namespace attune {

// Cuts the maps of one layer into runs of whole rows. Thread-compatible.
class AttentionChunks {
 public:
  // The largest serialized chunk. A row that is larger by itself still travels alone.
  static constexpr int64_t kMaxChunkBytes = int64_t{1} << 20;

  // `plan` is borrowed. REQUIRES: `maps` are those of one layer of it.
  AttentionChunks(const MapPlan& plan, int64_t layer, MapBytes maps);

  bool done() const { return row_ == rows_; }
  // The next rows. REQUIRES: !done().
  v1::AttentionChunk Next();

 private:
  int64_t RowCells(int64_t row) const;

  const MapPlan& plan_;
  const int64_t layer_;
  const MapBytes maps_;
  const int64_t rows_per_head_;
  const int64_t rows_;
  int64_t row_ = 0;   // the first that is not in a chunk yet
  int64_t cell_ = 0;  // and its first cell
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CODEC_ATTENTION_CHUNKS_H_
