#include "server/security/tls_identity_store.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

constexpr absl::Duration kWatchInterval = absl::Seconds(1);

bool SameContents(const TlsIdentity& a, const TlsIdentity& b) {
  return a.certificate_pem == b.certificate_pem && a.key_pem == b.key_pem &&
         a.client_ca_pem == b.client_ca_pem;
}

}  // namespace

TlsIdentityStore::TlsIdentityStore(TlsFiles files) : files_(std::move(files)) {}

absl::StatusOr<std::unique_ptr<TlsIdentityStore>> TlsIdentityStore::Open(const TlsFiles& files) {
  std::unique_ptr<TlsIdentityStore> store(new TlsIdentityStore(files));
  ATTUNE_RETURN_IF_ERROR(store->Load());
  std::vector<std::string> paths = {files.certificate, files.key};
  if (!files.client_ca.empty()) paths.push_back(files.client_ca);
  store->watcher_.emplace(std::move(paths), kWatchInterval,
                          [self = store.get()] { self->Reload(); });
  return store;
}

absl::Status TlsIdentityStore::Load() {
  ATTUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const TlsIdentity> identity,
                          ReadTlsIdentity(files_, absl::Now()));
  {
    MutexLock lock(mu_);
    if (current_ != nullptr && SameContents(*current_, *identity)) return absl::OkStatus();
    current_ = identity;
  }
  Log(LogLevel::kInfo, "tls_loaded", "new connections get this certificate",
      {{"tls_cert", files_.certificate},
       {"expires", absl::FormatTime(identity->expires, absl::UTCTimeZone())},
       {"client_certificates", asks_for_client_certificates()}});
  return absl::OkStatus();
}

void TlsIdentityStore::Reload() {
  const absl::Status loaded = Load();
  if (loaded.ok()) return;
  ++reload_failures_;
  Log(LogLevel::kError, "tls_reload_failed", "the certificate from before stays in use",
      {{"reason", loaded.message()}});
}

std::shared_ptr<const TlsIdentity> TlsIdentityStore::current() const {
  MutexLock lock(mu_);
  return current_;
}

}  // namespace attune
