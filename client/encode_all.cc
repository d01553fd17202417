// Client::EncodeAll: a window of requests in flight on one completion queue, driven by the calling
// thread.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/batch_splitter.h"
#include "client/client.h"
#include "client/encode_messages.h"
#include "client/error_details.h"
#include "client/grpc_status.h"
#include "client/input_index.h"
#include "grpcpp/completion_queue.h"

namespace attune {
namespace {

// Left free in a message for everything besides the inputs or embeddings.
constexpr uint64_t kMessageOverheadBytes = 4096;
// Tag and length of one text, at their longest.
constexpr size_t kTextOverheadBytes = 6;
constexpr size_t kMaxTokenIdBytes = 5;

// The server's messages about one input start with its path: "texts.values[3]: ...".
std::optional<size_t> IndexInMessage(absl::string_view message) {
  if (!absl::ConsumePrefix(&message, "texts.values[") &&
      !absl::ConsumePrefix(&message, "text_pairs.values[") &&
      !absl::ConsumePrefix(&message, "token_ids.values[")) {
    return std::nullopt;
  }
  size_t index = 0;
  if (!absl::SimpleAtoi(message.substr(0, message.find(']')), &index)) return std::nullopt;
  return index;
}

absl::Status CheckInput(const EncodeInput& input) {
  if (const auto* text = std::get_if<std::string>(&input)) {
    return internal::CheckUtf8(*text, "text");
  }
  if (const auto* pair = std::get_if<TextPair>(&input)) return internal::CheckUtf8(*pair, "pair");
  return absl::OkStatus();
}

v1::EncodeRequest::InputCase KindOf(const EncodeInput& input) {
  if (std::holds_alternative<std::string>(input)) return v1::EncodeRequest::kTexts;
  if (std::holds_alternative<TextPair>(input)) return v1::EncodeRequest::kTextPairs;
  return v1::EncodeRequest::kTokenIds;
}

void AddInput(EncodeInput input, v1::EncodeRequest& request) {
  if (auto* text = std::get_if<std::string>(&input)) {
    request.mutable_texts()->add_values(std::move(*text));
  } else if (const auto* pair = std::get_if<TextPair>(&input)) {
    internal::AddPair(*pair, *request.mutable_text_pairs());
  } else {
    const auto& ids = std::get<TokenIdList>(input);
    request.mutable_token_ids()->add_values()->mutable_values()->Add(ids.begin(), ids.end());
  }
}

// Takes input `position` out of a request.
EncodeInput TakeInput(v1::EncodeRequest& request, int position) {
  switch (request.input_case()) {
    case v1::EncodeRequest::kTexts:
      return std::move(*request.mutable_texts()->mutable_values(position));
    case v1::EncodeRequest::kTextPairs: {
      v1::TextPair& pair = *request.mutable_text_pairs()->mutable_values(position);
      return TextPair{std::move(*pair.mutable_first()), std::move(*pair.mutable_second())};
    }
    default: {
      const auto& ids = request.token_ids().values(position).values();
      return TokenIdList(ids.begin(), ids.end());
    }
  }
}

// Limits so that request and reply fit both sides' message limits.
BatchLimits PlanLimits(const EncodeAllOptions& options, const v1::Limits& server,
                       const ClientOptions& client) {
  const auto at_least_one = [](uint64_t value) {
    return static_cast<size_t>(std::max<uint64_t>(value, 1));
  };
  const uint64_t message = server.max_message_bytes() > kMessageOverheadBytes
                               ? server.max_message_bytes() - kMessageOverheadBytes
                               : 1;
  return {
      .max_items = at_least_one(std::min<uint64_t>(options.max_request_items, server.max_texts())),
      .max_request_bytes = at_least_one(std::min<uint64_t>(options.max_request_bytes, message)),
      .max_reply_bytes = at_least_one(
          std::min<uint64_t>(static_cast<uint64_t>(client.max_receive_bytes), message))};
}

// One request, from its inputs to its results.
struct PendingCall {
  grpc::ClientContext context;
  v1::EncodeRequest request;
  v1::EncodeResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReaderInterface<v1::EncodeResponse>> reader;
  size_t first_index = 0;
  bool done = false;
};

class BulkEncode {
 public:
  BulkEncode(v1::EncoderService::StubInterface& stub, const ClientOptions& client_options,
             const v1::GetModelResponse& model, const EncodeSource& source, const EncodeSink& sink,
             const EncodeAllOptions& options)
      : stub_(stub),
        client_options_(client_options),
        model_(model),
        source_(source),
        sink_(sink),
        options_(options),
        splitter_(PlanLimits(options, model.limits(), client_options)) {}
  BulkEncode(const BulkEncode&) = delete;
  BulkEncode& operator=(const BulkEncode&) = delete;

  // The queue must be empty before the calls that it points to go away.
  ~BulkEncode() {
    for (const auto& call : calls_) call->context.TryCancel();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  absl::Status Run() {
    const size_t window = static_cast<size_t>(std::max(options_.requests_in_flight, 1));
    while (true) {
      while (!source_ended_ && calls_.size() < window) SendNext();
      // A source that failed ends the run only after everything it gave has been delivered.
      if (calls_.empty()) return source_status_;
      AwaitFront();
      const std::unique_ptr<PendingCall> call = std::move(calls_.front());
      calls_.pop_front();
      if (absl::Status status = Deliver(*call); !status.ok()) return status;
      if (options_.on_progress) options_.on_progress(progress_);
    }
  }

 private:
  // Fills a request from the source and sends it; sends nothing if the source has ended.
  void SendNext();
  // Reads one input into next_, unless one is waiting there.
  void ReadNext();
  BatchCost CostOf(const EncodeInput& input) const;
  void AwaitFront();
  absl::Status Deliver(PendingCall& call);
  absl::Status ErrorOf(const PendingCall& call) const;

  v1::EncoderService::StubInterface& stub_;
  const ClientOptions& client_options_;
  const v1::GetModelResponse& model_;
  const EncodeSource& source_;
  const EncodeSink& sink_;
  const EncodeAllOptions& options_;

  grpc::CompletionQueue queue_;
  std::deque<std::unique_ptr<PendingCall>> calls_;  // in the order of their inputs
  BatchSplitter splitter_;
  std::optional<EncodeInput> next_;  // read, but did not fit the last request
  bool source_ended_ = false;
  absl::Status source_status_;
  size_t next_index_ = 0;
  EncodeAllProgress progress_;
};

void BulkEncode::ReadNext() {
  if (next_ || source_ended_) return;
  absl::StatusOr<std::optional<EncodeInput>> input = source_();
  if (input.ok() && *input) {
    absl::Status status = CheckInput(**input);
    if (!status.ok()) input = internal::WithInputIndex(status, next_index_ + splitter_.items());
  }
  if (!input.ok()) source_status_ = input.status();
  if (input.ok()) next_ = *std::move(input);
  source_ended_ = !next_.has_value();
}

BatchCost BulkEncode::CostOf(const EncodeInput& input) const {
  BatchCost cost;
  uint64_t most_tokens = 0;
  if (const auto* text = std::get_if<std::string>(&input)) {
    cost.request_bytes = text->size() + kTextOverheadBytes;
    // A token covers at least one byte, apart from the two that the template adds.
    most_tokens = std::min<uint64_t>(model_.max_tokens(), text->size() + 2);
  } else if (const auto* pair = std::get_if<TextPair>(&input)) {
    const size_t bytes = pair->first.size() + pair->second.size();
    cost.request_bytes = bytes + 3 * kTextOverheadBytes;
    // The template adds three.
    most_tokens = std::min<uint64_t>(model_.max_tokens(), bytes + 3);
  } else {
    const size_t ids = std::get<TokenIdList>(input).size();
    cost.request_bytes = ids * kMaxTokenIdBytes + 2 * kTextOverheadBytes;
    most_tokens = ids;
  }
  const bool per_token = options_.encode.pooling() == v1::POOLING_NONE;
  const uint64_t width = per_token ? model_.hidden() : model_.dimension();
  cost.reply_bytes = EmbeddingReplyBytes(width * (per_token ? most_tokens : 1));
  return cost;
}

void BulkEncode::SendNext() {
  auto call = std::make_unique<PendingCall>();
  call->first_index = next_index_;
  splitter_.Clear();
  for (ReadNext(); next_.has_value(); ReadNext()) {
    const BatchCost cost = CostOf(*next_);
    // A request holds inputs of one kind.
    const bool other_kind = splitter_.items() > 0 && call->request.input_case() != KindOf(*next_);
    if (other_kind || !splitter_.Fits(cost)) break;
    AddInput(*std::move(next_), call->request);
    splitter_.Add(cost);
    next_.reset();
  }
  if (splitter_.items() == 0) return;
  next_index_ += splitter_.items();
  internal::SetEncodeOptions(options_.encode, client_options_.expected_dimension, call->request);
  call->context.set_deadline(absl::ToChronoTime(absl::Now() + client_options_.deadline));
  call->reader = stub_.AsyncEncode(&call->context, call->request, &queue_);
  call->reader->Finish(&call->response, &call->status, call.get());
  calls_.push_back(std::move(call));
}

void BulkEncode::AwaitFront() {
  while (!calls_.front()->done) {
    void* tag;
    bool ok;
    // Next always returns an event: a call is outstanding and has a deadline.
    if (!queue_.Next(&tag, &ok)) std::abort();
    static_cast<PendingCall*>(tag)->done = true;
  }
}

absl::Status BulkEncode::ErrorOf(const PendingCall& call) const {
  const absl::Status status = ToAbslStatus(call.status);
  const size_t inputs = internal::CountInputs(call.request);
  if (absl::IsInvalidArgument(status)) {
    const std::optional<size_t> index = IndexInMessage(call.status.error_message());
    if (index && *index < inputs)
      return internal::WithInputIndex(status, call.first_index + *index);
  }
  return internal::WithMessage(
      status, absl::StrCat("inputs ", call.first_index, " to ", call.first_index + inputs - 1, ": ",
                           status.message()));
}

absl::Status BulkEncode::Deliver(PendingCall& call) {
  if (!call.status.ok()) return ErrorOf(call);
  absl::StatusOr<EncodeResult> result = internal::ToEncodeResult(call.request, call.response);
  if (!result.ok()) return result.status();
  for (size_t i = 0; i < result->embeddings.size(); ++i) {
    EncodedItem item{.index = call.first_index + i,
                     .embedding = std::move(result->embeddings[i]),
                     .dimension = result->dimension};
    item.input = TakeInput(call.request, static_cast<int>(i));
    progress_.items += 1;
    progress_.tokens += item.embedding.tokens;
    if (item.embedding.truncated) ++progress_.truncated;
    if (item.embedding.beyond_trained_length) ++progress_.beyond_trained_length;
    if (absl::Status status = sink_(std::move(item)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Client::EncodeAll(const EncodeSource& source, const EncodeSink& sink,
                               const EncodeAllOptions& options) const {
  const absl::StatusOr<v1::GetModelResponse> model = GetModel();
  if (!model.ok()) return model.status();
  return BulkEncode(*encoder_, options_, *model, source, sink, options).Run();
}

}  // namespace attune
