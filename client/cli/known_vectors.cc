#include "client/cli/known_vectors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace attune::cli {
namespace {

// NaN is equal to itself here, and 0 is not equal to -0.
bool SameBits(absl::Span<const float> a, absl::Span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

absl::StatusOr<KnownVectors> KnownVectors::Ask(const Client& client,
                                               absl::Span<const std::string> texts,
                                               const v1::EncodeOptions& options) {
  KnownVectors known;
  EncodeAllOptions all;
  all.encode = options;
  all.max_request_items = 1;  // the client's deadline may leave no time for more
  const std::set<std::string> distinct(texts.begin(), texts.end());
  const auto source = [next = distinct.begin(),
                       end = distinct.end()]() mutable -> std::optional<EncodeInput> {
    if (next == end) return std::nullopt;
    return *next++;
  };
  const auto sink = [&known](EncodedItem item) {
    known.vectors_[std::get<std::string>(item.input)] = std::move(item.embedding.values);
    return absl::OkStatus();
  };
  if (absl::Status status = client.EncodeAll(source, sink, all); !status.ok()) return status;

  std::set<std::vector<float>> vectors;
  for (const auto& [text, vector] : known.vectors_) {
    if (vectors.insert(vector).second) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("another text has the same vector as \"", text.substr(0, 40),
                     "\"; to tell wrong answers, texts must differ in theirs"));
  }
  return known;
}

bool KnownVectors::AreOf(absl::Span<const std::string> texts,
                         const v1::EncodeResponse& response) const {
  const auto is_of = [this](const std::string& text, const v1::Embedding& embedding) {
    const auto known = vectors_.find(text);
    return known != vectors_.end() && SameBits(known->second, embedding.values());
  };
  return std::equal(texts.begin(), texts.end(), response.embeddings().begin(),
                    response.embeddings().end(), is_of);
}

}  // namespace attune::cli
