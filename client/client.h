// The C++ client of attune: text to vectors, attention maps and what goes with them.
//
//   auto client = attune::Client::Create({.address = "127.0.0.1:50051"});
//   auto result = (*client)->Encode({"Hello world"});
//   // result->embeddings[0].values holds result->dimension floats.
#ifndef ATTUNE_CLIENT_CLIENT_H_
#define ATTUNE_CLIENT_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attune/v1/attune.grpc.pb.h"
#include "client/attention_map_stream.h"
#include "client/attention_values.h"
#include "client/client_options.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace attune {

struct Embedding {
  // [dimension], or with POOLING_NONE [tokens, dimension], row-major.
  std::vector<float> values = {};
  // Tokens that were encoded, specials included.
  uint32_t tokens = 0;
  // Whether the text was cut to fit the limit.
  bool truncated = false;
  // Whether it has more tokens than the model was trained for.
  bool beyond_trained_length = false;
};

struct EncodeResult {
  // One per input, in order.
  std::vector<Embedding> embeddings = {};
  uint32_t dimension = 0;
  std::string model = {};
};

using TokenIdList = std::vector<uint32_t>;
// Two texts that the model reads together.
struct TextPair {
  std::string first = {};
  std::string second = {};
  friend bool operator==(const TextPair&, const TextPair&) = default;
};
// A text in UTF-8, token ids that are taken as they are, or a pair of texts.
using EncodeInput = std::variant<std::string, TokenIdList, TextPair>;

// One result of EncodeAll.
struct EncodedItem {
  // Number of the input, from 0.
  size_t index = 0;
  EncodeInput input = {};
  Embedding embedding = {};
  uint32_t dimension = 0;
};

// The next input; nullopt when there are no more. An error ends EncodeAll with that error.
using EncodeSource = std::function<absl::StatusOr<std::optional<EncodeInput>>()>;
// Takes one result. An error ends EncodeAll with that error.
using EncodeSink = std::function<absl::Status(EncodedItem item)>;

struct EncodeAllProgress {
  size_t items = 0;
  uint64_t tokens = 0;
  // Items of which Embedding's field of the same name is true.
  size_t truncated = 0;
  size_t beyond_trained_length = 0;
};

struct EncodeAllOptions {
  v1::EncodeOptions encode = {};
  // Most inputs in a request, and most bytes of input. Both are lowered to what the server accepts
  // and to what keeps the reply under the message limits. An input that is larger goes alone.
  size_t max_request_items = 64;
  size_t max_request_bytes = 1 << 20;
  // Requests under way at a time: enough to keep the server busy while results travel.
  int requests_in_flight = 4;
  // Called after each request whose results were delivered; may be empty.
  std::function<void(const EncodeAllProgress& progress)> on_progress = nullptr;
};

// The next text; nullopt when there are no more. An error ends HeadStatistics with that error.
using TextSource = std::function<absl::StatusOr<std::optional<std::string>>()>;

struct HeadStatisticsOptions {
  // Of each text. Default: ERROR.
  v1::Truncation truncation = v1::TRUNCATION_UNSPECIFIED;
  // Called after each text that the server, or the connection to it, has taken; may be empty.
  std::function<void(uint64_t texts)> on_progress = nullptr;
};

// Health as in grpc.health.v1.
using HealthState = grpc::health::v1::HealthCheckResponse::ServingStatus;

// A connection to a server, or to several behind one name. It connects at the first call, and
// again by itself whenever the connection is lost. Thread-safe.
//
// Errors of all calls: the server's code and message (see attune.proto), or
//   kInvalidArgument    also for text that is not UTF-8, before anything is sent; names the text
//   kUnavailable        no server could be reached or none is SERVING, after all attempts
//   kDeadlineExceeded   ClientOptions::deadline passed
//   kInternal           a reply that does not fit its request
// Messages come from the network: show them only with control characters escaped.
class Client {
 public:
  // kInvalidArgument if an option is out of range. Does not connect.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);

  // Texts to vectors, in one request; EncodeAll is for more than fit one.
  absl::StatusOr<EncodeResult> Encode(absl::Span<const std::string> texts,
                                      const v1::EncodeOptions& options = {}) const;

  // Token ids to vectors. The ids are taken as they are; no special tokens are added.
  absl::StatusOr<EncodeResult> EncodeTokenIds(absl::Span<const TokenIdList> token_ids,
                                              const v1::EncodeOptions& options = {}) const;

  // Pairs of texts to vectors, one for each pair.
  absl::StatusOr<EncodeResult> EncodePairs(absl::Span<const TextPair> pairs,
                                           const v1::EncodeOptions& options = {}) const;

  // Any number of inputs to vectors, in requests that fit the message limits. Calls `sink` in the
  // order of the inputs, on the calling thread, and holds no more than the requests in flight.
  //
  // On the first error it delivers all earlier results, drops the requests after it and returns.
  // FailedInputIndex tells which input was at fault.
  absl::Status EncodeAll(const EncodeSource& source, const EncodeSink& sink,
                         const EncodeAllOptions& options = {}) const;

  // One text's map in one reply. Over query.max_bytes (default 4 MiB) it is refused before anything
  // is computed.
  absl::StatusOr<v1::AttentionMapResponse> AttentionMap(const v1::AttentionQuery& query) const;

  // The same layer by layer, for maps of any size, in the memory of one layer:
  //
  //   auto stream = client->StreamAttentionMap(query);
  //   if (!stream.ok()) return stream.status();
  //   while (true) {
  //     auto layer = (*stream)->NextLayer();
  //     if (!layer.ok()) return layer.status();
  //     if (!layer->has_value()) break;  // the whole map has come, unharmed
  //     auto values = attune::AttentionLayerValues((*stream)->map(), **layer);
  //   }
  //
  // Returns when the header is there, so a query that is refused is an error here. The deadline is
  // that of the whole stream.
  absl::StatusOr<std::unique_ptr<AttentionMapStream>> StreamAttentionMap(
      const v1::AttentionQuery& query) const;

  // Statistics of every head, averaged over any number of texts, of which it holds one. Calls
  // `source` on the calling thread. The deadline is for each text, not for the whole; the first
  // text that cannot be read ends it, and FailedInputIndex tells which.
  absl::StatusOr<v1::HeadStatisticsResponse> HeadStatistics(
      const TextSource& source, const HeadStatisticsOptions& options = {}) const;

  absl::StatusOr<v1::ExplainSimilarityResponse> ExplainSimilarity(
      const v1::ExplainSimilarityRequest& request) const;
  absl::StatusOr<v1::AttendResponse> Attend(const v1::AttendRequest& request) const;
  absl::StatusOr<v1::TokenizeResponse> Tokenize(const v1::TokenizeRequest& request) const;
  absl::StatusOr<v1::GetModelResponse> GetModel() const;

  // The state of `service`; "" is the server as a whole. Of several servers, that of the first that
  // can be reached. kNotFound for a name it does not know.
  absl::StatusOr<HealthState> CheckHealth(const std::string& service = "") const;

  // Returns once `service` is SERVING, or kDeadlineExceeded with the last state after `bound`. The
  // server need not be up yet, and may restart meanwhile.
  absl::Status WaitUntilServing(absl::Duration bound, const std::string& service = "") const;

  const ClientOptions& options() const { return options_; }

 private:
  explicit Client(const ClientOptions& options);

  absl::StatusOr<EncodeResult> Encode(v1::EncodeRequest request,
                                      const v1::EncodeOptions& options) const;

  const ClientOptions options_;
  const std::unique_ptr<v1::EncoderService::StubInterface> encoder_;
  const std::unique_ptr<grpc::health::v1::Health::StubInterface> health_;
};

// The number of the input that an error of EncodeAll or HeadStatistics is about, from 0, if it is
// about one.
std::optional<size_t> FailedInputIndex(const absl::Status& status);

}  // namespace attune

#endif  // ATTUNE_CLIENT_CLIENT_H_
