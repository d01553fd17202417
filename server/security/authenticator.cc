#include "server/security/authenticator.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/file_reader.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"

namespace attune {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 20;
constexpr absl::Duration kWatchInterval = absl::Seconds(1);
constexpr absl::string_view kScheme = "Bearer ";

absl::StatusOr<TokenTable> ReadTokens(const std::string& path) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  return TokenTable::Parse(text);
}

absl::Status Refused(absl::string_view reason) {
  return absl::UnauthenticatedError(
      absl::StrCat(reason, "; send one \"authorization: Bearer TOKEN\""));
}

}  // namespace

Authenticator::Authenticator(std::string token_file) : token_file_(std::move(token_file)) {}

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Open(const std::string& token_file) {
  std::unique_ptr<Authenticator> authenticator(new Authenticator(token_file));
  if (token_file.empty()) return authenticator;
  ATTUNE_RETURN_IF_ERROR(authenticator->Load());
  authenticator->watcher_.emplace(std::vector<std::string>{token_file}, kWatchInterval,
                                  [self = authenticator.get()] { self->Reload(); });
  return authenticator;
}

absl::Status Authenticator::Load() {
  absl::StatusOr<TokenTable> read = ReadTokens(token_file_);
  if (!read.ok()) {
    return absl::Status(read.status().code(),
                        absl::StrCat("--token-file ", token_file_, ": ", read.status().message()));
  }
  const auto table = std::make_shared<const TokenTable>(*std::move(read));
  {
    MutexLock lock(mu_);
    if (table_ != nullptr && *table_ == *table) return absl::OkStatus();
    table_ = table;
  }
  Log(LogLevel::kInfo, "tokens_loaded", "calls need one of these tokens",
      {{"token_file", token_file_}, {"tokens", table->size()}});
  return absl::OkStatus();
}

void Authenticator::Reload() {
  const absl::Status loaded = Load();
  if (loaded.ok()) return;
  ++reload_failures_;
  Log(LogLevel::kError, "token_reload_failed", "the tokens from before stay in force",
      {{"reason", loaded.message()}});
}

std::shared_ptr<const TokenTable> Authenticator::table() const {
  MutexLock lock(mu_);
  return table_;
}

absl::StatusOr<std::string> Authenticator::FindHolder(
    absl::Span<const absl::string_view> authorization) const {
  if (authorization.empty()) return Refused("this call carries no token");
  if (authorization.size() > 1) return Refused("this call has several authorization headers");
  const absl::string_view value = authorization[0];
  if (!absl::StartsWithIgnoreCase(value, kScheme)) {
    return Refused("this call's authorization is not a bearer token");
  }
  const std::shared_ptr<const TokenTable> tokens = table();
  const std::string* holder = tokens->FindHolder(value.substr(kScheme.size()));
  if (holder == nullptr) return Refused("this call's token is not one of this server's");
  return *holder;
}

absl::StatusOr<std::string> Authenticator::Authenticate(
    absl::Span<const absl::string_view> authorization) const {
  if (!asks_for_tokens()) return std::string();
  absl::StatusOr<std::string> holder = FindHolder(authorization);
  if (!holder.ok()) ++failures_;
  return holder;
}

}  // namespace attune
