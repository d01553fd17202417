// Puts a measured load on a server: closed loop (each client waits for its answer before it asks
// again) or open loop (requests arrive at random times, whatever the server does).
#ifndef ATTUNE_CLIENT_CLI_LOAD_GENERATOR_H_
#define ATTUNE_CLIENT_CLI_LOAD_GENERATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/health_probe.h"
#include "client/cli/known_vectors.h"
#include "client/client_options.h"

namespace attune::cli {

struct LoadOptions {
  ClientOptions client;
  // Closed loop: requests under way at a time.
  int clients = 1;
  // If set, open loop: Poisson arrivals per second instead.
  std::optional<double> rate;
  // Stops sending after this time of measuring, or after this many measured requests, if set.
  absl::Duration duration = absl::Seconds(10);
  std::optional<uint64_t> max_requests;
  // Runs before the measuring begins, unmeasured.
  absl::Duration warmup = absl::ZeroDuration();
  // HTTP/2 connections that the requests share in turn.
  int connections = 1;
  // Open loop: arrivals that find this many requests under way are not sent, but counted.
  int max_outstanding = 1000;
  // A process of this machine whose processor time is reported too: the server's.
  std::optional<int> server_pid;
  // What the texts' vectors must be; null: any answer is right. Borrowed.
  const KnownVectors* known = nullptr;
  // Whether the server's health is asked for meanwhile, on a connection of its own.
  bool probe_health = false;
  uint64_t seed = 1;
};

struct LoadReport {
  uint64_t requests = 0;  // measured and answered, whatever the answer
  uint64_t succeeded = 0;
  uint64_t texts = 0;
  uint64_t tokens = 0;
  uint64_t not_sent = 0;
  std::map<absl::StatusCode, uint64_t> errors;
  // Answers, the warm-up's included, that are not what LoadOptions::known has.
  uint64_t wrong = 0;
  // Of the errors, those that the server gave a reason for, by its name.
  std::map<std::string, uint64_t> reasons;
  std::string first_error;
  // Of successful requests, in milliseconds, ascending. Open loop: from the intended time of
  // sending, so that a server that makes requests queue up is charged for it.
  std::vector<double> latencies_ms;
  // The same by length: under n, requests of more than n / 2 tokens and at most n, where n is a
  // power of two from 16 on; 16 has all the shorter ones too.
  std::map<uint64_t, std::vector<double>> latencies_ms_by_tokens;
  // Of the others, likewise.
  std::vector<double> error_latencies_ms;
  // From the beginning of the measuring to the last answer.
  double elapsed_seconds = 0;
  // What the server achieved while the load was on, whenever it was asked for: right answers per
  // second from the beginning of the measuring to the last sending.
  double goodput = 0;
  // Processor time of this process meanwhile, and of LoadOptions::server_pid, user and system.
  double client_cpu_seconds = 0;
  std::optional<double> server_cpu_seconds;
  // If LoadOptions::probe_health.
  std::optional<HealthReport> health;
};

// With what options the requests ask.
v1::EncodeOptions LoadEncodeOptions();

// Texts of the next request.
using NextTexts = std::function<std::vector<std::string>()>;

// Blocks until every request was answered; each has a deadline, so this ends. Calls `next_texts` on
// the calling thread. kInvalidArgument if an option is out of range, kNotFound if there is no
// process `server_pid`, also when it ends meanwhile.
absl::StatusOr<LoadReport> RunLoad(const LoadOptions& options, const NextTexts& next_texts);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_LOAD_GENERATOR_H_
