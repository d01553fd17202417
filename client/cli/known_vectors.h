// Texts whose vectors are known, to tell right answers from wrong ones.
#ifndef ATTUNE_CLIENT_CLI_KNOWN_VECTORS_H_
#define ATTUNE_CLIENT_CLI_KNOWN_VECTORS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attune/v1/attune.pb.h"
#include "client/client.h"

namespace attune::cli {

// What a server answered for each text before there was any load. A vector does not depend on what
// else the server does, so every later one must be the same bits. Immutable once made.
class KnownVectors {
 public:
  // Asks for each text, with `options`; those of later requests must be the same. The server's
  // error, or kFailedPrecondition if two different texts have one vector: answers to those could be
  // mixed up unseen.
  static absl::StatusOr<KnownVectors> Ask(const Client& client, absl::Span<const std::string> texts,
                                          const v1::EncodeOptions& options);

  // Whether `response` is the answer to `texts`, in their order. False for an unknown text.
  bool AreOf(absl::Span<const std::string> texts, const v1::EncodeResponse& response) const;

 private:
  absl::flat_hash_map<std::string, std::vector<float>> vectors_;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_KNOWN_VECTORS_H_
