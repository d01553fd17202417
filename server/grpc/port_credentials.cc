#include "server/grpc/port_credentials.h"

#include <grpc/grpc.h>
#include <grpc/slice.h>

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "engine/base/check.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"

namespace attune {
namespace {

// Probes have no tokens.
constexpr absl::string_view kOpenPath = "/grpc.health.v1.Health/";

absl::string_view ToView(const grpc_slice& slice) {
  return absl::string_view(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
                           GRPC_SLICE_LENGTH(slice));
}

void NothingToDestroy(void* /*self*/) {}

}  // namespace

PortCredentials::PortCredentials(const PortGuard& guard) : guard_(guard) { HandOver(this); }

void PortCredentials::SetAuthMetadataProcessor(
    const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) {
  ATTUNE_CHECK(false);
}

grpc_server_credentials* PortCredentials::NewCredentials() {
  if (guard_.tls == nullptr) return grpc_insecure_server_credentials_create();
  return grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(
          guard_.tls->asks_for_client_certificates()
              ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
              : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
          &FetchIdentity, this));
}

int PortCredentials::AddPortToServer(const std::string& address, grpc_server* server) {
  grpc_server_credentials* credentials = NewCredentials();
  if (guard_.authenticator->asks_for_tokens()) {
    grpc_server_credentials_set_auth_metadata_processor(credentials,
                                                        {&CheckCall, &NothingToDestroy, this});
  }
  const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
  grpc_server_credentials_release(credentials);
  return port;
}

grpc_ssl_certificate_config_reload_status PortCredentials::FetchIdentity(
    void* self, grpc_ssl_server_certificate_config** config) {
  TakeOver(self);
  auto& credentials = *static_cast<PortCredentials*>(self);
  const std::shared_ptr<const TlsIdentity> identity = credentials.guard_.tls->current();
  MutexLock lock(credentials.mu_);
  if (identity == credentials.fetched_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair = {identity->key_pem.c_str(),
                                           identity->certificate_pem.c_str()};
  // gRPC 1.51 insists on an authority even when no client is asked for a certificate, and then
  // never uses it.
  const std::string& authority =
      identity->client_ca_pem.empty() ? identity->certificate_pem : identity->client_ca_pem;
  *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
  credentials.fetched_ = identity;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

void PortCredentials::CheckCall(void* self, grpc_auth_context* /*context*/,
                                const grpc_metadata* metadata, size_t metadata_count,
                                grpc_process_auth_metadata_done_cb done, void* user_data) {
  TakeOver(self);
  const auto& credentials = *static_cast<const PortCredentials*>(self);
  std::vector<absl::string_view> authorization;
  bool open = false;
  for (size_t i = 0; i < metadata_count; ++i) {
    const absl::string_view key = ToView(metadata[i].key);
    if (key == "authorization") authorization.push_back(ToView(metadata[i].value));
    if (key == ":path") open = absl::StartsWith(ToView(metadata[i].value), kOpenPath);
  }
  const absl::Status status =
      open ? absl::OkStatus()
           : credentials.guard_.authenticator->Authenticate(authorization).status();
  const grpc::Status answer = ToGrpcStatus(status);
  done(user_data, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(answer.error_code()),
       answer.ok() ? nullptr : answer.error_message().c_str());
}

}  // namespace attune
