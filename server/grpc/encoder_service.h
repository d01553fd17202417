#ifndef ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_
#define ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attune/v1/attune.grpc.pb.h"
#include "engine/base/mutex.h"
#include "server/request_pipeline.h"

namespace attune {

class UnaryCall;

// attune.v1.EncoderService over gRPC's callback API: each handler decodes, hands over to the
// pipeline and returns; it never waits. Thread-safe.
class EncoderService final : public v1::EncoderService::CallbackService {
 public:
  // `max_deadline` bounds calls whose client set a later deadline, or none.
  explicit EncoderService(absl::Duration max_deadline);

  // Until Serve, and again after Refuse, calls end with kUnavailable. `pipeline` and `tokenizer`
  // are borrowed and outlive the last call.
  void Serve(RequestPipeline* pipeline, const Tokenizer* tokenizer);
  void Refuse(absl::Status reason);

  // Waits until no call is running; false if `timeout` passed first.
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

  // Not built yet: UNIMPLEMENTED, saying so.
  grpc::ServerUnaryReactor* ExplainSimilarity(grpc::CallbackServerContext* context,
                                              const v1::ExplainSimilarityRequest* request,
                                              v1::ExplainSimilarityResponse* response) override;
  grpc::ServerBidiReactor<v1::StreamEncodeRequest, v1::StreamEncodeResponse>* StreamEncode(
      grpc::CallbackServerContext* context) override;
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

  const absl::Duration max_deadline_;

  Mutex mu_;
  CondVar idle_;
  Backend backend_ ABSL_GUARDED_BY(mu_);
  absl::Status refusal_ ABSL_GUARDED_BY(mu_) = absl::UnavailableError("the server is loading");
  int64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_arrival_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_
