#ifndef ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_
#define ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_

#include "absl/time/time.h"
#include "attune/v1/attune.grpc.pb.h"
#include "server/call_gate.h"
#include "server/call_monitor.h"
#include "server/grpc/open_streams.h"
#include "server/grpc/stream_encode_call.h"
#include "server/security/authenticator.h"
#include "server/server_options.h"
#include "server/stream_places.h"

namespace attune {

// attune.v1.EncoderService over gRPC's callback API: each handler decodes, hands over to the
// pipeline and returns; it never waits. Thread-safe.
class EncoderService final : public v1::EncoderService::CallbackService {
 public:
  // All but `options` are borrowed; `authenticator` knows whose a call is.
  EncoderService(CallGate& gate, CallMonitor& monitor, const Authenticator& authenticator,
                 const ServerOptions& options);

  // Ends the streams that are open, once what they have taken in has been answered. For when the
  // gate has closed: it refuses those that would open later.
  void EndStreams(const absl::Status& reason);

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
  grpc::ServerWriteReactor<v1::StreamAttentionMapResponse>* StreamAttentionMap(
      grpc::CallbackServerContext* context, const v1::StreamAttentionMapRequest* request) override;
  grpc::ServerReadReactor<v1::HeadStatisticsRequest>* HeadStatistics(
      grpc::CallbackServerContext* context, v1::HeadStatisticsResponse* response) override;

  grpc::ServerUnaryReactor* ExplainSimilarity(grpc::CallbackServerContext* context,
                                              const v1::ExplainSimilarityRequest* request,
                                              v1::ExplainSimilarityResponse* response) override;

 private:
  // A call that is counted until its reactor is done.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* StartCall(RpcMethod method, grpc::CallbackServerContext& context,
                                      const Request& request, Response& response);

  // A stream that is counted and among the open ones until it is over. start(backend, record)
  // creates it, or says why not: a StatusOr of a shared_ptr.
  template <typename Reactor, typename Start>
  Reactor* StartStream(RpcMethod method, grpc::CallbackServerContext& context, Start start);

  // Who shares the server's time with others: the holder of the call's token, or else the peer.
  std::string ClientOf(const grpc::CallbackServerContext& context) const;
  StreamEncodeCall::Options StreamOptions(const grpc::CallbackServerContext& context,
                                          std::shared_ptr<const Backend> backend);
  // What a stream calls when it is over. Holds the stream's backend until the stream is gone.
  std::function<void(OpenStream&)> StreamOver(std::shared_ptr<const Backend> backend);

  CallGate& gate_;
  CallMonitor& monitor_;
  const Authenticator& authenticator_;
  const ServerOptions options_;
  OpenStreams streams_;
  StreamPlaces attention_places_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_ENCODER_SERVICE_H_
