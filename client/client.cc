#include "client/client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/channel.h"
#include "client/encode_messages.h"
#include "client/grpc_status.h"

namespace attune {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// How long to wait before asking again after a watch that ended at once.
constexpr absl::Duration kRewatchDelay = absl::Milliseconds(100);

void SetDeadline(absl::Duration deadline, grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
}

template <typename Service, typename Request, typename Response>
absl::StatusOr<Response> Call(const std::unique_ptr<Service>& stub,
                              grpc::Status (Service::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
                              const Request& request, absl::Duration deadline) {
  grpc::ClientContext context;
  SetDeadline(deadline, context);
  Response response;
  const grpc::Status status = ((*stub).*method)(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

absl::Status CheckQueryUtf8(const v1::AttentionQuery& query) {
  absl::Status status = internal::CheckUtf8(query.text(), "query.text");
  if (!status.ok()) return status;
  return internal::CheckUtf8(TextPair{query.text_pair().first(), query.text_pair().second()},
                             "query.text_pair");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::unique_ptr<Client>(new Client(options));
}

Client::Client(const ClientOptions& options)
    : options_(options),
      encoder_(v1::EncoderService::NewStub(CreateEncoderChannel(options))),
      health_(Health::NewStub(CreateHealthChannel(options))) {}

absl::StatusOr<EncodeResult> Client::Encode(absl::Span<const std::string> texts,
                                            const v1::EncodeOptions& options) const {
  v1::EncodeRequest request;
  v1::TextList* list = request.mutable_texts();
  for (size_t i = 0; i < texts.size(); ++i) {
    absl::Status status = internal::CheckUtf8(texts[i], absl::StrCat("texts.values[", i, "]"));
    if (!status.ok()) return status;
    list->add_values(texts[i]);
  }
  return Encode(std::move(request), options);
}

absl::StatusOr<EncodeResult> Client::EncodeTokenIds(absl::Span<const TokenIdList> token_ids,
                                                    const v1::EncodeOptions& options) const {
  v1::EncodeRequest request;
  v1::TokenIdsList* list = request.mutable_token_ids();
  for (const TokenIdList& ids : token_ids) {
    list->add_values()->mutable_values()->Add(ids.begin(), ids.end());
  }
  return Encode(std::move(request), options);
}

absl::StatusOr<EncodeResult> Client::EncodePairs(absl::Span<const TextPair> pairs,
                                                 const v1::EncodeOptions& options) const {
  v1::EncodeRequest request;
  v1::TextPairList* list = request.mutable_text_pairs();
  for (size_t i = 0; i < pairs.size(); ++i) {
    absl::Status status = internal::CheckUtf8(pairs[i], absl::StrCat("text_pairs.values[", i, "]"));
    if (!status.ok()) return status;
    internal::AddPair(pairs[i], *list);
  }
  return Encode(std::move(request), options);
}

absl::StatusOr<EncodeResult> Client::Encode(v1::EncodeRequest request,
                                            const v1::EncodeOptions& options) const {
  internal::SetEncodeOptions(options, options_.expected_dimension, request);
  const absl::StatusOr<v1::EncodeResponse> response =
      Call(encoder_, &v1::EncoderService::StubInterface::Encode, request, options_.deadline);
  if (!response.ok()) return response.status();
  return internal::ToEncodeResult(request, *response);
}

absl::StatusOr<v1::AttentionMapResponse> Client::AttentionMap(
    const v1::AttentionQuery& query) const {
  if (absl::Status status = CheckQueryUtf8(query); !status.ok()) return status;
  v1::AttentionMapRequest request;
  *request.mutable_query() = query;
  return Call(encoder_, &v1::EncoderService::StubInterface::AttentionMap, request,
              options_.deadline);
}

absl::StatusOr<std::unique_ptr<AttentionMapStream>> Client::StreamAttentionMap(
    const v1::AttentionQuery& query) const {
  if (absl::Status status = CheckQueryUtf8(query); !status.ok()) return status;
  v1::StreamAttentionMapRequest request;
  *request.mutable_query() = query;
  std::unique_ptr<AttentionMapStream> stream(new AttentionMapStream());
  SetDeadline(options_.deadline, stream->context_);
  absl::Status status = stream->Open(encoder_->StreamAttentionMap(&stream->context_, request));
  if (!status.ok()) return status;
  return stream;
}

absl::StatusOr<v1::ExplainSimilarityResponse> Client::ExplainSimilarity(
    const v1::ExplainSimilarityRequest& request) const {
  absl::Status status = internal::CheckUtf8(request.first(), "first");
  if (status.ok()) status = internal::CheckUtf8(request.second(), "second");
  if (!status.ok()) return status;
  return Call(encoder_, &v1::EncoderService::StubInterface::ExplainSimilarity, request,
              options_.deadline);
}

absl::StatusOr<v1::AttendResponse> Client::Attend(const v1::AttendRequest& request) const {
  return Call(encoder_, &v1::EncoderService::StubInterface::Attend, request, options_.deadline);
}

absl::StatusOr<v1::TokenizeResponse> Client::Tokenize(const v1::TokenizeRequest& request) const {
  for (int i = 0; i < request.texts().values_size(); ++i) {
    absl::Status status =
        internal::CheckUtf8(request.texts().values(i), absl::StrCat("texts.values[", i, "]"));
    if (!status.ok()) return status;
  }
  return Call(encoder_, &v1::EncoderService::StubInterface::Tokenize, request, options_.deadline);
}

absl::StatusOr<v1::GetModelResponse> Client::GetModel() const {
  return Call(encoder_, &v1::EncoderService::StubInterface::GetModel, v1::GetModelRequest(),
              options_.deadline);
}

absl::StatusOr<HealthState> Client::CheckHealth(const std::string& service) const {
  HealthCheckRequest request;
  request.set_service(service);
  const absl::StatusOr<HealthCheckResponse> response =
      Call(health_, &Health::StubInterface::Check, request, options_.deadline);
  if (!response.ok()) return response.status();
  return response->status();
}

absl::Status Client::WaitUntilServing(absl::Duration bound, const std::string& service) const {
  const absl::Time end = absl::Now() + bound;
  HealthCheckRequest request;
  request.set_service(service);
  std::string last_state = "no answer";
  // A watch ends when its server drains, restarts or goes away; gRPC does not retry a stream that
  // has begun.
  while (absl::Now() < end) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(end));
    context.set_wait_for_ready(true);
    const auto watch = health_->Watch(&context, request);
    HealthCheckResponse response;
    while (watch->Read(&response)) {
      if (response.status() == HealthCheckResponse::SERVING) {
        context.TryCancel();
        watch->Finish();
        return absl::OkStatus();
      }
      last_state = HealthCheckResponse::ServingStatus_Name(response.status());
    }
    const absl::Status status = ToAbslStatus(watch->Finish());
    if (!status.ok() && !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) {
      return status;
    }
    absl::SleepFor(std::min(kRewatchDelay, std::max(absl::ZeroDuration(), end - absl::Now())));
  }
  return absl::DeadlineExceededError(absl::StrCat("not SERVING after ", absl::FormatDuration(bound),
                                                  " (last state: ", last_state, ")"));
}

}  // namespace attune
