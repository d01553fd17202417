#include "client/channel.h"

#include "absl/strings/str_cat.h"
#include "attune/v1/attune.grpc.pb.h"
#include "client/bearer_token.h"
#include "client/server_target.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace attune {
namespace {

constexpr int kMaxAttempts = 5;  // gRPC takes no more
// gRPC gives up retrying a call whose request does not fit this buffer. Its default, 256 KiB, is
// less than a full batch of texts.
constexpr int kRetryBufferBytes = 64 << 20;
// Finds a peer that vanished without closing. The server allows a ping every 10 s.
constexpr int kKeepaliveTimeMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// gRPC's defaults, 1 s to 120 s, would leave a client waiting long after its server is back.
constexpr int kInitialReconnectBackoffMs = 200;
constexpr int kMaxReconnectBackoffMs = 5'000;

std::shared_ptr<grpc::ChannelCredentials> Credentials(const ClientOptions& options) {
  if (options.tls_ca.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = options.tls_ca;
  tls.pem_cert_chain = options.tls_cert;
  tls.pem_private_key = options.tls_key;
  return grpc::SslCredentials(tls);
}

std::shared_ptr<grpc::Channel> CreateChannel(const ClientOptions& options,
                                             grpc::ChannelArguments arguments) {
  const ServerTarget server = ParseServerAddress(options.address).value();
  if (!options.tls_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls_name);
  } else if (!server.authority.empty()) {
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, server.authority);
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      server.target, Credentials(options), arguments, BearerTokenInterceptors(options.token));
}

grpc::ChannelArguments CommonArguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kInitialReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, options.private_connection ? 1 : 0);
  return arguments;
}

}  // namespace

absl::Status ClientOptions::Validate() const {
  const absl::StatusOr<ServerTarget> server = ParseServerAddress(address);
  if (!server.ok()) return server.status();
  if (tls_cert.empty() != tls_key.empty()) {
    return absl::InvalidArgumentError("tls_cert and tls_key are given together");
  }
  if (!tls_cert.empty() && tls_ca.empty()) {
    return absl::InvalidArgumentError("tls_cert needs tls_ca, which turns TLS on");
  }
  if (!tls_name.empty() && tls_ca.empty()) {
    return absl::InvalidArgumentError("tls_name needs tls_ca, which turns TLS on");
  }
  if (!tls_ca.empty() && tls_name.empty() && !server->authority.empty()) {
    return absl::InvalidArgumentError(
        "address is a list of servers: with tls_ca it needs tls_name, the name in the certificate "
        "of each");
  }
  if (absl::Status status = CheckToken(token); !status.ok()) return status;
  if (deadline <= absl::ZeroDuration() || deadline == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("deadline is ", absl::FormatDuration(deadline),
                                                   "; it must be finite and above 0"));
  }
  if (max_attempts < 1 || max_attempts > kMaxAttempts) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_attempts is ", max_attempts, "; it must be 1 to ", kMaxAttempts));
  }
  if (max_receive_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_receive_bytes is ", max_receive_bytes, "; it must be at least 1"));
  }
  return absl::OkStatus();
}

std::string EncoderServiceConfig(const ClientOptions& options) {
  const absl::string_view service = v1::EncoderService::service_full_name();
  std::string config = absl::StrCat(R"({"loadBalancingConfig":[{"round_robin":{}}],)",
                                    R"("healthCheckConfig":{"serviceName":")", service, R"("})");
  if (options.max_attempts > 1) {
    // Throttling stops retries when half the tokens are gone: a failure costs one, a success
    // returns a tenth. Enough for one burst from a few bulk requests, not for a server that stays
    // overloaded.
    absl::StrAppend(&config, R"(,"retryThrottling":{"maxTokens":100,"tokenRatio":0.1},)",
                    R"("methodConfig":[{"name":[{"service":")", service,
                    R"("}],"retryPolicy":{"maxAttempts":)", options.max_attempts,
                    R"(,"initialBackoff":"0.1s","maxBackoff":"2s","backoffMultiplier":2,)",
                    R"("retryableStatusCodes":["UNAVAILABLE","RESOURCE_EXHAUSTED"]}}])");
  }
  return absl::StrCat(config, "}");
}

std::shared_ptr<grpc::Channel> CreateEncoderChannel(const ClientOptions& options) {
  grpc::ChannelArguments arguments = CommonArguments(options);
  arguments.SetServiceConfigJSON(EncoderServiceConfig(options));
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, options.max_attempts > 1 ? 1 : 0);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kRetryBufferBytes);
  return CreateChannel(options, arguments);
}

std::shared_ptr<grpc::Channel> CreateHealthChannel(const ClientOptions& options) {
  return CreateChannel(options, CommonArguments(options));
}

}  // namespace attune
