#include "client/encode_messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/utf8.h"

namespace attune::internal {

absl::Status CheckUtf8(absl::string_view text, absl::string_view field) {
  const std::optional<size_t> offset = InvalidUtf8Offset(text);
  if (!offset) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s is not UTF-8: byte 0x%02x at offset %d", field,
                      static_cast<unsigned char>(text[*offset]), *offset));
}

absl::Status CheckUtf8(const TextPair& pair, absl::string_view field) {
  absl::Status status = CheckUtf8(pair.first, absl::StrCat(field, ".first"));
  return status.ok() ? CheckUtf8(pair.second, absl::StrCat(field, ".second")) : status;
}

void AddPair(const TextPair& pair, v1::TextPairList& list) {
  v1::TextPair& message = *list.add_values();
  message.set_first(pair.first);
  message.set_second(pair.second);
}

void SetEncodeOptions(const v1::EncodeOptions& options, std::optional<uint32_t> expected_dimension,
                      v1::EncodeRequest& request) {
  *request.mutable_options() = options;
  if (expected_dimension && !options.has_expected_dimension()) {
    request.mutable_options()->set_expected_dimension(*expected_dimension);
  }
}

size_t CountInputs(const v1::EncodeRequest& request) {
  // All but one of the lists are empty.
  const int inputs = request.texts().values_size() + request.token_ids().values_size() +
                     request.text_pairs().values_size();
  return static_cast<size_t>(inputs);
}

absl::StatusOr<EncodeResult> ToEncodeResult(const v1::EncodeRequest& request,
                                            const v1::EncodeResponse& response) {
  const size_t inputs = CountInputs(request);
  if (static_cast<size_t>(response.embeddings_size()) != inputs) {
    return absl::InternalError(absl::StrCat("the server sent ", response.embeddings_size(),
                                            " embeddings for ", inputs, " inputs"));
  }
  const v1::EncodeOptions& options = request.options();
  const uint32_t dimension = response.dimension();
  if (options.has_expected_dimension() && options.expected_dimension() != dimension) {
    return absl::FailedPreconditionError(
        absl::StrCat("model ", response.model(), " gives dimension ", dimension,
                     ", the caller expects ", options.expected_dimension()));
  }
  EncodeResult result{.dimension = dimension, .model = response.model()};
  result.embeddings.reserve(inputs);
  for (const v1::Embedding& embedding : response.embeddings()) {
    const bool per_token = options.pooling() == v1::POOLING_NONE;
    const uint64_t expected = uint64_t{dimension} * (per_token ? embedding.tokens() : 1);
    if (static_cast<uint64_t>(embedding.values_size()) != expected) {
      return absl::InternalError(absl::StrCat("embedding ", result.embeddings.size(), " has ",
                                              embedding.values_size(), " values, expected ",
                                              expected));
    }
    result.embeddings.push_back({.values = {embedding.values().begin(), embedding.values().end()},
                                 .tokens = embedding.tokens(),
                                 .truncated = embedding.truncated(),
                                 .beyond_trained_length = embedding.beyond_trained_length()});
  }
  return result;
}

}  // namespace attune::internal
