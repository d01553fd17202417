// A map of any size, a layer at a time: what Client::StreamAttentionMap gives.
#ifndef ATTUNE_CLIENT_ATTENTION_MAP_STREAM_H_
#define ATTUNE_CLIENT_ATTENTION_MAP_STREAM_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attune/v1/attune.grpc.pb.h"
#include "client/attention_stream_check.h"

namespace attune {

// Layers are read when they are asked for, so that a caller who is slow, or wants no more, costs
// neither side memory: this side holds the layer being put together and one message. Everything
// that arrives is checked against map(), and the whole against the trailer: a map that comes
// without an error is whole.
//
// Destroying the stream before its end cancels it. Thread-compatible. Must not outlive the Client.
class AttentionMapStream {
 public:
  ~AttentionMapStream();
  AttentionMapStream(const AttentionMapStream&) = delete;
  AttentionMapStream& operator=(const AttentionMapStream&) = delete;

  // All but the matrices. Statistics, mixing ratios and the embedding are there once NextLayer has
  // returned nullopt. Valid as long as the stream.
  const v1::AttentionMapResponse& map() const { return map_; }

  // Blocks until the next of map().layers() is there: its maps, [heads, queries, keys] of
  // map().shape(), whole, as one chunk that is the caller's. nullopt after the last, and for a
  // query whose matrix is NONE. AttentionLayerValues makes numbers of it.
  //
  // The errors of Client, and kDataLoss if the stream ends early or its checksum is wrong. After an
  // error there are no more layers, and each call gives the same error.
  absl::StatusOr<std::optional<v1::AttentionChunk>> NextLayer();

 private:
  friend class Client;
  using Reader = grpc::ClientReaderInterface<v1::StreamAttentionMapResponse>;

  AttentionMapStream() = default;
  // Reads the header.
  absl::Status Open(std::unique_ptr<Reader> reader);
  // The next message; kDataLoss at an end that came too early.
  absl::StatusOr<v1::StreamAttentionMapResponse> Read();
  absl::StatusOr<std::optional<v1::AttentionChunk>> ReadLayer();
  absl::Status TakeTrailer(v1::AttentionTrailer trailer);

  grpc::ClientContext context_;     // outlives reader_
  std::unique_ptr<Reader> reader_;  // null: over
  v1::AttentionMapResponse map_;
  std::optional<internal::AttentionStreamCheck> check_;  // of map_; set once it is there
  absl::Status error_;
};

}  // namespace attune

#endif  // ATTUNE_CLIENT_ATTENTION_MAP_STREAM_H_
