// The unary methods of attune.v1.EncoderService, for every transport that carries its messages.
#ifndef ATTUNE_SERVER_ENCODER_METHODS_H_
#define ATTUNE_SERVER_ENCODER_METHODS_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "attune/v1/attune.pb.h"
#include "server/call.h"
#include "server/call_gate.h"

namespace attune {

// The one answer of a call: on any thread, possibly before RunMethod returns. With OK the response
// is complete.
using Answer = std::function<void(const absl::Status&)>;

// RunMethod decodes `request`, runs it, encodes `response`, and answers. It never waits. The
// messages live until the answer. Errors are those of the contract. Throws std::bad_alloc, and then
// does not answer, if there is no memory for the decoded request.
void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::EncodeRequest& request, v1::EncodeResponse& response, Answer answer);
void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::AttentionMapRequest& request, v1::AttentionMapResponse& response,
               Answer answer);
void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::ExplainSimilarityRequest& request, v1::ExplainSimilarityResponse& response,
               Answer answer);
void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::AttendRequest& request, v1::AttendResponse& response, Answer answer);
void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::TokenizeRequest& request, v1::TokenizeResponse& response, Answer answer);
void RunMethod(const Backend& backend, const std::shared_ptr<Call>& call,
               const v1::GetModelRequest& request, v1::GetModelResponse& response, Answer answer);

}  // namespace attune

#endif  // ATTUNE_SERVER_ENCODER_METHODS_H_
