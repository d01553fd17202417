#ifndef ATTUNE_SERVER_SECURITY_AUTHENTICATOR_H_
#define ATTUNE_SERVER_SECURITY_AUTHENTICATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/mutex.h"
#include "server/security/file_watcher.h"
#include "server/security/token_table.h"

namespace attune {

// Who calls, by bearer token (RFC 6750). The file of tokens is read again when it changes; one that
// is wrong leaves the tokens as they were. Thread-safe.
class Authenticator {
 public:
  // Without a `token_file` everybody may call. Errors name the file and what is wrong with it.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Open(const std::string& token_file);

  // The name of the one whose token the call carries, "" when no token is asked for.
  // `authorization` are the values of all its headers, or metadata, of that name. kUnauthenticated
  // when there are none, several, or one that is not a token of ours; no message says more of it.
  absl::StatusOr<std::string> Authenticate(absl::Span<const absl::string_view> authorization) const;

  bool asks_for_tokens() const { return !token_file_.empty(); }

  // Since the start: calls refused here, and changes of the file that could not be used.
  int64_t failures() const { return failures_.load(); }
  int64_t reload_failures() const { return reload_failures_.load(); }

 private:
  explicit Authenticator(std::string token_file);

  absl::Status Load();
  void Reload();
  absl::StatusOr<std::string> FindHolder(absl::Span<const absl::string_view> authorization) const;
  std::shared_ptr<const TokenTable> table() const;

  const std::string token_file_;
  mutable std::atomic<int64_t> failures_ = 0;
  std::atomic<int64_t> reload_failures_ = 0;
  mutable Mutex mu_;
  std::shared_ptr<const TokenTable> table_ ABSL_GUARDED_BY(mu_);  // null: not loaded
  std::optional<FileWatcher> watcher_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_AUTHENTICATOR_H_
