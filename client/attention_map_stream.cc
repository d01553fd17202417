#include "client/attention_map_stream.h"

#include <utility>

#include "client/grpc_status.h"

namespace attune {
namespace {

absl::Status OutOfPlace() {
  return absl::InternalError("the server sent a part of the stream out of its place");
}

// Appends `chunk`, which goes on where `layer` ends.
void Append(v1::AttentionChunk chunk, v1::AttentionChunk& layer) {
  layer.set_rows(layer.rows() + chunk.rows());
  layer.mutable_data()->append(chunk.data());
  layer.mutable_row_scales()->append(chunk.row_scales());
  layer.mutable_kept_mass()->append(chunk.kept_mass());
  if (!chunk.has_sparse()) return;
  layer.mutable_sparse()->mutable_row_lengths()->append(chunk.sparse().row_lengths());
  layer.mutable_sparse()->mutable_columns()->append(chunk.sparse().columns());
}

}  // namespace

AttentionMapStream::~AttentionMapStream() {
  if (reader_ == nullptr) return;
  context_.TryCancel();
  reader_->Finish();
}

absl::Status AttentionMapStream::Open(std::unique_ptr<Reader> reader) {
  reader_ = std::move(reader);
  absl::StatusOr<v1::StreamAttentionMapResponse> first = Read();
  if (!first.ok()) return first.status();
  if (!first->has_header()) return OutOfPlace();
  map_ = std::move(*first->mutable_header());
  absl::StatusOr<internal::AttentionStreamCheck> check =
      internal::AttentionStreamCheck::Create(map_);
  if (!check.ok()) return check.status();
  check_ = *std::move(check);
  return absl::OkStatus();
}

absl::StatusOr<v1::StreamAttentionMapResponse> AttentionMapStream::Read() {
  v1::StreamAttentionMapResponse message;
  if (reader_->Read(&message)) return message;
  const absl::Status status = ToAbslStatus(std::exchange(reader_, nullptr)->Finish());
  if (!status.ok()) return status;
  return absl::DataLossError("the stream ended without its trailer, so the map is not whole");
}

absl::StatusOr<std::optional<v1::AttentionChunk>> AttentionMapStream::NextLayer() {
  if (!error_.ok()) return error_;
  if (reader_ == nullptr) return std::nullopt;
  absl::StatusOr<std::optional<v1::AttentionChunk>> layer = ReadLayer();
  error_ = layer.status();
  return layer;
}

absl::StatusOr<std::optional<v1::AttentionChunk>> AttentionMapStream::ReadLayer() {
  std::optional<v1::AttentionChunk> layer;
  do {
    absl::StatusOr<v1::StreamAttentionMapResponse> message = Read();
    if (!message.ok()) return message.status();
    if (message->has_trailer() && !layer.has_value()) {
      absl::Status status = TakeTrailer(std::move(*message->mutable_trailer()));
      if (!status.ok()) return status;
      return std::nullopt;
    }
    if (!message->has_chunk()) return OutOfPlace();
    if (absl::Status status = check_->Take(message->chunk()); !status.ok()) return status;
    if (layer.has_value()) {
      Append(std::move(*message->mutable_chunk()), *layer);
    } else {
      layer = std::move(*message->mutable_chunk());
    }
  } while (!check_->between_layers());
  return layer;
}

absl::Status AttentionMapStream::TakeTrailer(v1::AttentionTrailer trailer) {
  if (absl::Status status = check_->Finish(trailer); !status.ok()) return status;
  v1::StreamAttentionMapResponse more;
  if (reader_->Read(&more)) return OutOfPlace();
  absl::Status status = ToAbslStatus(std::exchange(reader_, nullptr)->Finish());
  if (!status.ok()) return status;
  map_.mutable_statistics()->Swap(trailer.mutable_statistics());
  map_.mutable_embedding()->Swap(trailer.mutable_embedding());
  map_.set_mixing_ratio(std::move(*trailer.mutable_mixing_ratio()));
  return absl::OkStatus();
}

}  // namespace attune
