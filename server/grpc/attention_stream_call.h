#ifndef ATTUNE_SERVER_GRPC_ATTENTION_STREAM_CALL_H_
#define ATTUNE_SERVER_GRPC_ATTENTION_STREAM_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attune/v1/attune.pb.h"
#include "engine/base/mutex.h"
#include "engine/text/tokenizer.h"
#include "server/attention_stream.h"
#include "server/call.h"
#include "server/codec/attention_chunks.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/open_streams.h"
#include "server/request_pipeline.h"
#include "server/stream_places.h"

namespace attune {

// gRPC's side of one StreamAttentionMap call. A message is made when the last one has been taken,
// and a layer is computed when the last one has been sent: a client who reads slowly slows its own
// stream and holds one layer. Thread-safe.
class AttentionStreamCall final : public grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>,
                                  public OpenStream,
                                  public std::enable_shared_from_this<AttentionStreamCall> {
 public:
  using OnOver = std::function<void(OpenStream& stream)>;

  // The stream keeps itself alive until it is over; all references are borrowed until then. `call`
  // has a record. `place` is free again before the client can see the end. `on_over` is called at
  // the end. Open starts it.
  static std::shared_ptr<AttentionStreamCall> Create(grpc::CallbackServerContext& context,
                                                     const v1::StreamAttentionMapRequest& request,
                                                     RequestPipeline& pipeline,
                                                     const Tokenizer& tokenizer,
                                                     std::shared_ptr<Call> call,
                                                     StreamPlaces::Place place, OnOver on_over);

  // Use Create.
  AttentionStreamCall(grpc::CallbackServerContext& context,
                      const v1::StreamAttentionMapRequest& request, RequestPipeline& pipeline,
                      const Tokenizer& tokenizer, std::shared_ptr<Call> call,
                      StreamPlaces::Place place, OnOver on_over);

  void Open();

  // The one request was taken before the server began to drain: it is answered.
  void EndWith(const absl::Status& /*reason*/) override {}
  void CancelIfStalled(absl::Time since) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void TakeStream(absl::StatusOr<std::shared_ptr<AttentionStream>> stream);
  void TakePart(absl::StatusOr<AttentionStream::Part> part);
  absl::Status AskForStream();
  // Writes the next chunk, or has the next layer computed; ends the stream if there is no memory.
  void Advance();
  void SendMore();
  void WriteChunk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteTrailer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  grpc::CallbackServerContext& context_;
  const v1::StreamAttentionMapRequest& request_;
  RequestPipeline& pipeline_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<Call> call_;
  const OnOver on_over_;

  Mutex mu_;
  StreamPlaces::Place place_ ABSL_GUARDED_BY(mu_);
  RequestIdReply request_id_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<AttentionStreamCall> self_ ABSL_GUARDED_BY(mu_);  // until OnDone
  std::shared_ptr<AttentionStream> stream_ ABSL_GUARDED_BY(mu_);
  std::optional<AttentionChunks> chunks_ ABSL_GUARDED_BY(mu_);  // of the layer being sent
  v1::StreamAttentionMapResponse message_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time write_began_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool trailer_sent_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t chunks_sent_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t rows_sent_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t crc32c_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_ATTENTION_STREAM_CALL_H_
