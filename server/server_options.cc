#include "server/server_options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "server/http/host_port.h"
#include "server/precision_flags.h"

namespace attune {
namespace {

constexpr int64_t kLeastQueueTokens = 65'536;
constexpr int64_t kLeastQueueItems = 16'384;
// Numbers of one byte on the wire take four in memory.
constexpr int64_t kRequestForms = 4;

absl::Status CheckRange(absl::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " is ", value, "; it must be from ", least, " to ", most));
}

absl::Status CheckDuration(absl::string_view flag, absl::Duration value, absl::Duration least) {
  if (value >= least && value <= absl::Hours(24)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, " is ", absl::FormatDuration(value),
                                                 "; it must be from ", absl::FormatDuration(least),
                                                 " to 24h"));
}

// That it has the form of an address, and that serving on it is meant.
absl::Status CheckAddress(absl::string_view flag, const std::string& address,
                          const ServerOptions& options) {
  if (IsLoopbackAddress(address)) return absl::OkStatus();
  const std::optional<HostPort> parts = SplitHostPort(address);
  if (!parts.has_value() || parts->port.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is ", address, "; it must be HOST:PORT"));
  }
  if (options.insecure || !options.tls_cert.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", flag, " is ", address,
      ", which other machines can reach, and nothing would be encrypted; give --tls-cert and "
      "--tls-key, or --insecure true inside a network that you trust"));
}

absl::Status CheckSecurity(const ServerOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.tls_key.empty() ? "--tls-key" : "--tls-cert",
                     " is empty; --tls-cert and --tls-key are given together"));
  }
  if (options.tls_cert.empty() && !options.tls_client_ca.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--tls-client-ca is ", options.tls_client_ca,
                                                   "; it needs --tls-cert and --tls-key"));
  }
  ATTUNE_RETURN_IF_ERROR(CheckAddress("grpc-address", options.grpc_address, options));
  if (options.http_address == "off") return absl::OkStatus();
  return CheckAddress("http-address", options.http_address, options);
}

}  // namespace

absl::Status Validate(const ServerOptions& options) {
  constexpr int64_t kMaxInt = std::numeric_limits<int>::max();
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  constexpr int64_t kMaxCount = int64_t{1} << 30;

  if (options.model.empty()) {
    return absl::InvalidArgumentError("--model is empty; it must be a model folder");
  }
  ATTUNE_RETURN_IF_ERROR(CheckSecurity(options));
  if (options.ops_address.empty()) {
    return absl::InvalidArgumentError("--ops-address is empty; it must be HOST:PORT, or off");
  }
  ATTUNE_RETURN_IF_ERROR(ParsePrecisionFlag(options.precision).status());
  ATTUNE_RETURN_IF_ERROR(ParseKernelsFlag(options.kernels).status());
  if (options.quality_cache.empty()) {
    return absl::InvalidArgumentError("--quality-cache is empty; it must be a folder, or off");
  }
  ATTUNE_RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, 1024));
  ATTUNE_RETURN_IF_ERROR(CheckRange("tokenizer-threads", options.tokenizer_threads, 1, 256));
  // gRPC counts message bytes in an int.
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-message-bytes", options.max_message_bytes, 1024, kMaxInt));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-texts", options.max_texts, 1, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-text-bytes", options.max_text_bytes, 1, kMaxInt));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-input-tokens", options.max_input_tokens, 0, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-batch-tokens", options.max_batch_tokens, 1, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-batch-items", options.max_batch_items, 1, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-queue-tokens", options.max_queue_tokens, 0, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-queue-items", options.max_queue_items, 0, kMaxCount));
  if (options.max_queue_items > 0 && options.max_queue_items < options.max_texts) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-queue-items is ", options.max_queue_items, "; one request may have ",
                     options.max_texts, " texts, so raise it to that, or lower --max-texts"));
  }
  ATTUNE_RETURN_IF_ERROR(
      CheckDuration("max-queue-wait", options.max_queue_wait, absl::ZeroDuration()));
  ATTUNE_RETURN_IF_ERROR(CheckRange("max-pending-bytes", options.max_pending_bytes, 1, kMaxBytes));
  ATTUNE_RETURN_IF_ERROR(
      CheckRange("max-attention-reply", options.max_attention_reply_bytes, 1, kMaxInt));
  ATTUNE_RETURN_IF_ERROR(CheckRange("attention-budget", options.attention_budget_bytes,
                                    options.max_attention_reply_bytes, kMaxBytes));
  ATTUNE_RETURN_IF_ERROR(
      CheckRange("max-attention-streams", options.max_attention_streams, 1, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(
      CheckRange("calls-budget", options.calls_budget_bytes, LargestCallBytes(options), kMaxBytes));
  ATTUNE_RETURN_IF_ERROR(CheckRange("memory-limit", options.memory_limit_bytes, 0, kMaxBytes));
  ATTUNE_RETURN_IF_ERROR(CheckRange("grpc-memory-quota", options.grpc_memory_quota_bytes,
                                    int64_t{1} << 20, kMaxBytes));
  ATTUNE_RETURN_IF_ERROR(CheckRange("http-threads", options.http_threads, 1, 1024));
  ATTUNE_RETURN_IF_ERROR(
      CheckDuration("http-io-timeout", options.http_io_timeout, absl::Milliseconds(1)));
  ATTUNE_RETURN_IF_ERROR(
      CheckDuration("max-deadline", options.max_deadline, absl::Milliseconds(1)));
  ATTUNE_RETURN_IF_ERROR(
      CheckRange("max-parallel-per-stream", options.max_parallel_per_stream, 1, kMaxCount));
  ATTUNE_RETURN_IF_ERROR(
      CheckDuration("stream-stall-timeout", options.stream_stall_timeout, absl::Milliseconds(1)));
  ATTUNE_RETURN_IF_ERROR(CheckDuration("drain-delay", options.drain_delay, absl::ZeroDuration()));
  return CheckDuration("drain-timeout", options.drain_timeout, absl::ZeroDuration());
}

int64_t LargestCallBytes(const ServerOptions& options) {
  return kRequestForms * options.max_message_bytes +
         kReplyForms * std::max(options.max_message_bytes, options.max_attention_reply_bytes);
}

int64_t LargestRequestTokens(const ServerOptions& options) {
  return std::min(options.max_texts * options.max_input_tokens, options.max_message_bytes);
}

void ChooseQueueLimits(ServerOptions& options) {
  if (options.max_queue_tokens == 0) {
    options.max_queue_tokens = std::max(kLeastQueueTokens, LargestRequestTokens(options));
  }
  if (options.max_queue_items == 0) {
    options.max_queue_items = std::max(kLeastQueueItems, options.max_texts);
  }
}

}  // namespace attune
