// How a server's health looks from outside while it has other things to do.
#ifndef ATTUNE_CLIENT_CLI_HEALTH_PROBE_H_
#define ATTUNE_CLIENT_CLI_HEALTH_PROBE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/client.h"

namespace attune::cli {

struct HealthReport {
  // Of checks that found the server SERVING, in milliseconds, ascending.
  std::vector<double> latencies_ms;
  // Checks that did not, or had no answer.
  uint64_t failed = 0;
};

// Asks for the server's health again and again, as an orchestrator's probe does, on a connection
// and a thread of its own, from its making until Stop. Thread-compatible.
class HealthProbe {
 public:
  // Between an answer and the next question.
  static constexpr absl::Duration kPause = absl::Milliseconds(20);

  explicit HealthProbe(std::unique_ptr<Client> client);
  HealthProbe(const HealthProbe&) = delete;
  HealthProbe& operator=(const HealthProbe&) = delete;
  ~HealthProbe();

  // Blocks for the answer under way. Once only.
  HealthReport Stop();

 private:
  void Probe();

  const std::unique_ptr<Client> client_;
  std::atomic<bool> stopping_{false};
  HealthReport report_;  // of the thread, until it has ended
  std::thread thread_;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_HEALTH_PROBE_H_
