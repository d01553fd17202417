// Texts whose answers are known.
#ifndef ATTUNE_TESTS_SOAK_KNOWN_TEXTS_H_
#define ATTUNE_TESTS_SOAK_KNOWN_TEXTS_H_

#include <grpcpp/client_context.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attune/v1/attune.grpc.pb.h"

namespace attune::testing {

// The weights of the first layer of `text`.
absl::StatusOr<std::string> AskForMap(v1::EncoderService::Stub& stub, grpc::ClientContext& context,
                                      const std::string& text);

// Texts with what the server answered at rest, one request at a time. Answers do not depend on what
// else the server does, so later ones must be the same bits. Thread-safe once made.
class KnownTexts {
 public:
  // The server's error, or kFailedPrecondition if it has one vector for two texts: the answers to
  // those could be mixed up unseen.
  static absl::StatusOr<KnownTexts> Ask(v1::EncoderService::Stub& stub, int count);

  int size() const { return static_cast<int>(texts_.size()); }
  const std::string& text(int i) const { return texts_[static_cast<size_t>(i)]; }
  const std::string& map(int i) const { return maps_[static_cast<size_t>(i)]; }
  bool IsVectorOf(int i, const v1::Embedding& embedding) const;

 private:
  std::vector<std::string> texts_;
  std::vector<std::vector<float>> vectors_;
  std::vector<std::string> maps_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SOAK_KNOWN_TEXTS_H_
