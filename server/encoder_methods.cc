#include "server/encoder_methods.h"

#include <utility>

#include "server/codec/attend_codec.h"
#include "server/codec/attention_codec.h"
#include "server/codec/encode_codec.h"
#include "server/codec/model_codec.h"
#include "server/codec/similarity_codec.h"

namespace attune {

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::EncodeRequest& request, v1::EncodeResponse& response, Answer answer) {
  absl::StatusOr<EncodeInput> input = DecodeEncodeRequest(request);
  if (!input.ok()) return answer(input.status());
  const ModelInfo& model = backend.pipeline->model_info();
  backend.pipeline->Encode(
      *std::move(input), call,
      [&response, &model, answer = std::move(answer)](const absl::StatusOr<EncodeReply>& reply) {
        if (reply.ok()) EncodeEncodeReply(*reply, model, response);
        answer(reply.status());
      });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::AttentionMapRequest& request, v1::AttentionMapResponse& response,
               Answer answer) {
  absl::StatusOr<AttentionInput> input = DecodeAttentionQuery(request.query());
  if (!input.ok()) return answer(input.status());
  backend.pipeline->MapAttention(*std::move(input), call,
                                 [&request, &response, backend, answer = std::move(answer)](
                                     absl::StatusOr<AttentionReply> reply) {
                                   const absl::Status status = reply.status();
                                   if (status.ok()) {
                                     EncodeAttentionReply(*std::move(reply), *backend.tokenizer,
                                                          backend.pipeline->model_info(), response);
                                     EchoAttentionQuery(request.query(), response);
                                   }
                                   answer(status);
                                 });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::ExplainSimilarityRequest& request, v1::ExplainSimilarityResponse& response,
               Answer answer) {
  absl::StatusOr<SimilarityInput> input = DecodeSimilarityRequest(request);
  if (!input.ok()) return answer(input.status());
  backend.pipeline->ExplainSimilarity(
      *std::move(input), call,
      [&response, backend,
       answer = std::move(answer)](const absl::StatusOr<SimilarityReply>& reply) {
        if (reply.ok()) {
          EncodeSimilarityReply(*reply, *backend.tokenizer, backend.pipeline->model_info(),
                                response);
        }
        answer(reply.status());
      });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::AttendRequest& request, v1::AttendResponse& response, Answer answer) {
  absl::StatusOr<AttendInput> input = DecodeAttendRequest(request);
  if (!input.ok()) return answer(input.status());
  backend.pipeline->Attend(
      std::make_shared<const AttendInput>(*std::move(input)), call,
      [&response, answer = std::move(answer)](const absl::StatusOr<AttendResult>& result) {
        if (result.ok()) EncodeAttendReply(*result, response);
        answer(result.status());
      });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::TokenizeRequest& request, v1::TokenizeResponse& response, Answer answer) {
  absl::StatusOr<TokenizeInput> input = DecodeTokenizeRequest(request);
  if (!input.ok()) return answer(input.status());
  backend.pipeline->Tokenize(*std::move(input), call,
                             [&response, tokenizer = backend.tokenizer, answer = std::move(answer)](
                                 const absl::StatusOr<TokenizeReply>& reply) {
                               if (reply.ok()) EncodeTokenizeReply(*reply, *tokenizer, response);
                               answer(reply.status());
                             });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& /*call*/,
               const v1::GetModelRequest& /*request*/, v1::GetModelResponse& response,
               Answer answer) {
  EncodeModelInfo(backend.pipeline->model_info(), response);
  answer(absl::OkStatus());
}

}  // namespace attune
