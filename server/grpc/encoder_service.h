#ifndef ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_
#define ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attune/v1/attune.grpc.pb.h"
#include "engine/base/mutex.h"
#include "server/grpc/open_streams.h"
#include "server/grpc/stream_encode_call.h"
#include "server/request_pipeline.h"
#include "server/server_options.h"

namespace attune {

class UnaryCall;

// attune.v1.EncoderService over gRPC's callback API: each handler decodes, hands over to the
// pipeline and returns; it never waits. Thread-safe.
class EncoderService final : public v1::EncoderService::CallbackService {
 public:
  // Of `options` it needs what concerns calls: deadlines and streams.
  explicit EncoderService(const ServerOptions& options);

  // Until Serve, and again after Refuse, calls end with kUnavailable. `pipeline` and `tokenizer`
  // are borrowed and outlive the last call. Refuse also ends the streams that are open, once what
  // they have taken in has been answered.
  void Serve(RequestPipeline* pipeline, const Tokenizer* tokenizer);
  void Refuse(absl::Status reason);

  // Waits until no call, unary or stream, is running; false if `timeout` passed first.
  bool WaitIdle(absl::Duration timeout);

  // When the newest call arrived, served or refused.
  absl::Time last_arrival();

  grpc::ServerUnaryReactor* Encode(grpc::CallbackServerContext* context,
                                   const v1::EncodeRequest* request,
                                   v1::EncodeResponse* response) override;
  grpc::ServerUnaryReactor* AttentionMap(grpc::CallbackServerContext* context,
                                         const v1::AttentionMapRequest* request,
                                         v1::AttentionMapResponse* response) override;
  grpc::ServerUnaryReactor* Attend(grpc::CallbackServerContext* context,
                                   const v1::AttendRequest* request,
                                   v1::AttendResponse* response) override;
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context,
                                     const v1::TokenizeRequest* request,
                                     v1::TokenizeResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;
  grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>* StreamEncode(
      grpc::CallbackServerContext* context) override;

  // Not built yet: UNIMPLEMENTED, saying so.
  grpc::ServerUnaryReactor* ExplainSimilarity(grpc::CallbackServerContext* context,
                                              const v1::ExplainSimilarityRequest* request,
                                              v1::ExplainSimilarityResponse* response) override;
  grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>* StreamAttentionMap(
      grpc::CallbackServerContext* context, const v1::StreamAttentionMapRequest* request) override;
  grpc::ServerReadReactor<v1::HeadStatisticsRequest>* HeadStatistics(
      grpc::CallbackServerContext* context, v1::HeadStatisticsResponse* response) override;

 private:
  friend class UnaryCall;

  struct Backend {
    RequestPipeline* pipeline = nullptr;
    const Tokenizer* tokenizer = nullptr;
  };

  // A call that is counted until its reactor is done. start(call, backend) decodes the request and
  // hands it over; an error that it returns, like having no backend, is the answer.
  template <typename Start>
  grpc::ServerUnaryReactor* StartCall(const grpc::CallbackServerContext& context, Start start);
  UnaryCall* NewCall(const grpc::CallbackServerContext& context);
  absl::StatusOr<Backend> GetBackend();
  void CallEnded();

  StreamEncodeCall::Options StreamOptions(const grpc::CallbackServerContext& context);

  const ServerOptions options_;
  OpenStreams streams_;

  Mutex mu_;
  CondVar idle_;
  Backend backend_ ABSL_GUARDED_BY(mu_);
  absl::Status refusal_ ABSL_GUARDED_BY(mu_) = absl::UnavailableError("the server is loading");
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_arrival_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_
