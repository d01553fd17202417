#ifndef ATTUNE_SERVER_SERVER_OPTIONS_H_
#define ATTUNE_SERVER_SERVER_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace attune {

// Everything an operator can set; main.cc gives each field a flag and an environment variable of
// the same name. 0 means "choose" only where it says so.
struct ServerOptions {
  // Where to listen. Port 0 lets the system choose one.
  std::string grpc_address = "127.0.0.1:50051";
  // The same for the HTTP port, or "off".
  std::string http_address = "127.0.0.1:8080";
  // Serve on addresses that other machines can reach although they are not encrypted.
  bool insecure = false;
  // PEM files: the server's certificate chain and its key, which turn TLS on for both ports, and
  // the authority that clients' certificates must come from. Read again when they change.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  // Who may call, one NAME:SHA256 of a bearer token a line; empty: everybody. Read again when it
  // changes.
  std::string token_file;
  // The same for the operator's port, which serves metrics and probes, or "off".
  std::string ops_address = "127.0.0.1:9464";
  // The model folder.
  std::string model;
  // "f32", "bf16", "int8", or "auto": bf16 where it is faster and close to f32, else f32.
  std::string precision = "auto";
  // "auto", "onednn" or "native".
  std::string kernels = "auto";
  // The folder where the figures of a reduced precision are remembered, or "off".
  std::string quality_cache = "off";

  // Threads that compute. 0: as many as the affinity mask and the cgroup quota allow.
  int threads = 0;
  int tokenizer_threads = 1;
  // Whether idle threads help with the forward pass of a busy one while nothing waits.
  bool split_lone_requests = true;

  int64_t max_message_bytes = int64_t{4} << 20;
  int64_t max_texts = 2'048;
  int64_t max_text_bytes = int64_t{1} << 20;
  // Tokens per text, specials included. 0: the model folder's own limit. May be more than that, up
  // to the rows of the model's position table.
  int64_t max_input_tokens = 0;

  int64_t max_batch_tokens = 256;
  int64_t max_batch_items = 64;
  // Tokens that wait for a worker. 0: max(65,536, min(max_texts * max_input_tokens,
  // max_message_bytes)).
  int64_t max_queue_tokens = 0;
  // Texts and other items that wait for a worker. Each holds some memory besides its tokens. 0:
  // max(16,384, max_texts).
  int64_t max_queue_items = 0;
  // How long a request of up to Batcher::kMostInteractiveItems texts may be predicted to wait for a
  // worker. 0: 500 ms, or the time of 16 batches where that is more, so that a slow machine does
  // not turn away the few callers that a queue is for.
  absl::Duration max_queue_wait;
  // Text that waits to be tokenised.
  int64_t max_pending_bytes = int64_t{32} << 20;
  absl::Duration max_deadline = absl::Seconds(60);  // for an item of a stream, not the stream

  // Items of one StreamEncode under way at a time: read, and their answers not yet taken.
  int64_t max_parallel_per_stream = 64;
  // A stream whose client takes nothing for this long is cancelled.
  absl::Duration stream_stall_timeout = absl::Seconds(30);

  // The largest attention map a request may ask for, and what all of them together may hold.
  int64_t max_attention_reply_bytes = int64_t{64} << 20;
  int64_t attention_budget_bytes = int64_t{256} << 20;

  // StreamAttentionMap calls that may be open at a time.
  int64_t max_attention_streams = 16;

  // What the messages of all calls under way may take, from when they are read until they are
  // answered.
  int64_t calls_budget_bytes = int64_t{512} << 20;

  // What the process may use of the machine's memory, if the control group does not allow less: the
  // budgets are made to fit. 0: as much as that allows.
  int64_t memory_limit_bytes = 0;

  // Whether every call that ends is a line in the log.
  bool access_log = true;

  // The OTLP collector that gets the spans of traced calls, http://HOST:PORT; empty: none.
  std::string otlp_endpoint;

  int64_t grpc_memory_quota_bytes = int64_t{128} << 20;
  bool reflection = true;

  // HTTP connections served at once; further ones wait in the kernel.
  int http_threads = 16;
  // For a request to arrive, and for a reply that makes no progress.
  absl::Duration http_io_timeout = absl::Seconds(10);

  // After SIGTERM: how long to go on serving while traffic moves away, then how long to wait for
  // what is still running.
  absl::Duration drain_delay = absl::Seconds(5);
  absl::Duration drain_timeout = absl::Seconds(20);

  // The names of the flags that the operator has set; budgets among them are left as they are.
  absl::flat_hash_set<std::string> set_flags;
};

// How many times a reply may be in memory at once besides what it is made from: as a message, in
// protobuf's encoding, and in JSON, where numbers are longer and the text grows by doubling.
constexpr int64_t kReplyForms = 6;

// What the largest call takes of calls_budget_bytes.
int64_t LargestCallBytes(const ServerOptions& options);

// The most tokens of one request. REQUIRES: options.max_input_tokens is not 0.
int64_t LargestRequestTokens(const ServerOptions& options);

// Chooses the limits of the queue where they are 0, so that it holds the largest request.
// REQUIRES: options.max_input_tokens is not 0.
void ChooseQueueLimits(ServerOptions& options);

// kInvalidArgument naming the flag, its value and the range, for the first option that is wrong.
absl::Status Validate(const ServerOptions& options);

}  // namespace attune

#endif  // ATTUNE_SERVER_SERVER_OPTIONS_H_
