#include "server/encoder_methods.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "server/codec/attend_codec.h"
#include "server/codec/attention_codec.h"
#include "server/codec/encode_codec.h"
#include "server/codec/model_codec.h"
#include "server/codec/similarity_codec.h"
#include "server/out_of_memory.h"

namespace attune {
namespace {

// What to answer when `result` is that of the work: if it is OK, `encode` writes the response
// first.
absl::Status Encoded(const absl::Status& result, absl::FunctionRef<void()> encode) {
  if (!result.ok()) return result;
  return OrOutOfMemory([&] {
    encode();
    return absl::OkStatus();
  });
}

}  // namespace

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::EncodeRequest& request, v1::EncodeResponse& response, Answer answer) {
  absl::StatusOr<EncodeInput> input = DecodeEncodeRequest(request);
  if (!input.ok()) return answer(input.status());
  const ModelInfo& model = backend.pipeline->model_info();
  backend.pipeline->Encode(
      *std::move(input), call,
      [&response, &model, answer = std::move(answer)](const absl::StatusOr<EncodeReply>& reply) {
        answer(Encoded(reply.status(), [&] { EncodeEncodeReply(*reply, model, response); }));
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
                                   answer(Encoded(reply.status(), [&] {
                                     EncodeAttentionReply(*std::move(reply), *backend.tokenizer,
                                                          backend.pipeline->model_info(), response);
                                     EchoAttentionQuery(request.query(), response);
                                   }));
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
        answer(Encoded(reply.status(), [&] {
          EncodeSimilarityReply(*reply, *backend.tokenizer, backend.pipeline->model_info(),
                                response);
        }));
      });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::AttendRequest& request, v1::AttendResponse& response, Answer answer) {
  absl::StatusOr<AttendInput> input = DecodeAttendRequest(request);
  if (!input.ok()) return answer(input.status());
  backend.pipeline->Attend(
      std::make_shared<const AttendInput>(*std::move(input)), call,
      [&response, answer = std::move(answer)](const absl::StatusOr<AttendResult>& result) {
        answer(Encoded(result.status(), [&] { EncodeAttendReply(*result, response); }));
      });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::TokenizeRequest& request, v1::TokenizeResponse& response, Answer answer) {
  absl::StatusOr<TokenizeInput> input = DecodeTokenizeRequest(request);
  if (!input.ok()) return answer(input.status());
  backend.pipeline->Tokenize(
      *std::move(input), call,
      [&response, tokenizer = backend.tokenizer,
       answer = std::move(answer)](const absl::StatusOr<TokenizeReply>& reply) {
        answer(Encoded(reply.status(), [&] { EncodeTokenizeReply(*reply, *tokenizer, response); }));
      });
}

void RunMethod(const Backend& backend, const std::shared_ptr<Call>& /*call*/,
               const v1::GetModelRequest& /*request*/, v1::GetModelResponse& response,
               Answer answer) {
  EncodeModelInfo(backend.pipeline->model_info(), response);
  answer(absl::OkStatus());
}

}  // namespace attune
