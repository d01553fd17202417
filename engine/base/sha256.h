#ifndef ATTUNE_ENGINE_BASE_SHA256_H_
#define ATTUNE_ENGINE_BASE_SHA256_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace attune {

// SHA-256 (FIPS 180-4) of a stream of bytes. Thread-compatible.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(absl::string_view bytes);
  // 64 lower-case hex digits. Call once; Update must not follow.
  std::string HexDigest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The digest of `bytes` alone.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_SHA256_H_
