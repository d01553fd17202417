#ifndef ATTUNE_SERVER_SECURITY_TLS_IDENTITY_STORE_H_
#define ATTUNE_SERVER_SECURITY_TLS_IDENTITY_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/mutex.h"
#include "server/security/file_watcher.h"
#include "server/security/tls_identity.h"

namespace attune {

// The identity that new connections get. Its files are read again when they change; those that are
// wrong, expired or not a pair leave the last good identity in force, and are logged and counted.
// Connections keep what they began with. Thread-safe.
class TlsIdentityStore {
 public:
  // Errors are those of ReadTlsIdentity.
  static absl::StatusOr<std::unique_ptr<TlsIdentityStore>> Open(const TlsFiles& files);

  std::shared_ptr<const TlsIdentity> current() const;
  // The same as long as the store lives.
  bool asks_for_client_certificates() const { return !files_.client_ca.empty(); }
  // Changes of the files that could not be used.
  int64_t reload_failures() const { return reload_failures_.load(); }

 private:
  explicit TlsIdentityStore(TlsFiles files);

  absl::Status Load();
  void Reload();

  const TlsFiles files_;
  std::atomic<int64_t> reload_failures_ = 0;
  mutable Mutex mu_;
  std::shared_ptr<const TlsIdentity> current_ ABSL_GUARDED_BY(mu_);
  std::optional<FileWatcher> watcher_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SECURITY_TLS_IDENTITY_STORE_H_
