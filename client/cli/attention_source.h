// An attention map from the server, by whichever call can bring it.
#ifndef ATTUNE_CLIENT_CLI_ATTENTION_SOURCE_H_
#define ATTUNE_CLIENT_CLI_ATTENTION_SOURCE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace attune::cli {

struct AttentionLayer {
  // [heads, queries, keys]; NaN for cells that were not sent.
  std::vector<float> values;
  // [heads, queries], or empty: the share of a row's sum that is in it.
  std::vector<float> kept_mass;
};

// A layer at a time. Thread-compatible; must not outlive its client.
class AttentionSource {
 public:
  virtual ~AttentionSource() = default;
  // All but the matrices and kept_mass; whole once NextLayer has returned nullopt.
  virtual const v1::AttentionMapResponse& map() const = 0;
  // The next of map().shape(0) layers; nullopt after the last.
  virtual absl::StatusOr<std::optional<AttentionLayer>> NextLayer() = 0;
};

// Whether the answer needs every layer at once, so that only AttentionMap gives it: a reduction of
// layers, erasure, the embedding's movement, or because max_bytes asks for one reply.
bool NeedsOneReply(const v1::AttentionQuery& query);

// Asks for a stream, whose size has no limit, or for one reply.
absl::StatusOr<std::unique_ptr<AttentionSource>> OpenAttention(const Client& client,
                                                               const v1::AttentionQuery& query,
                                                               bool stream);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_ATTENTION_SOURCE_H_
