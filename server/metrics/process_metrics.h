#ifndef ATTUNE_SERVER_METRICS_PROCESS_METRICS_H_
#define ATTUNE_SERVER_METRICS_PROCESS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "engine/base/mutex.h"

namespace attune {

// What the kernel says of this process. What cannot be read keeps its last value, 0 at first.
struct ProcessReading {
  std::optional<double> cpu_seconds;
  std::optional<double> resident_bytes;
  std::optional<double> virtual_bytes;
  std::optional<double> start_time_seconds;  // since 1970
  std::optional<double> open_fds;
  std::optional<double> max_fds;
  // Time that the control group kept its threads from running; since it was made.
  std::optional<double> throttled_seconds;
};

// Reads <root>/proc and <root>/sys/fs/cgroup; `root` is empty but in tests.
ProcessReading ReadProcess(const std::string& root = "");

// The microseconds in a cgroup v2 cpu.stat, "throttled_usec 123", or the nanoseconds in a v1 one,
// "throttled_time 123", in seconds.
std::optional<double> ParseThrottledSeconds(absl::string_view cpu_stat);

// The standard series of a process, and the time it was throttled. Thread-safe.
class ProcessMetrics {
 public:
  // `registry` owns the series and outlives this.
  explicit ProcessMetrics(prometheus::Registry& registry);

  // Brings the series up to date; takes some microseconds.
  void Update(const ProcessReading& reading);

 private:
  Mutex mu_;
  prometheus::Counter* cpu_seconds_ ABSL_GUARDED_BY(mu_);
  prometheus::Counter* throttled_seconds_ ABSL_GUARDED_BY(mu_);
  prometheus::Gauge* resident_bytes_;
  prometheus::Gauge* virtual_bytes_;
  prometheus::Gauge* start_time_;
  prometheus::Gauge* open_fds_;
  prometheus::Gauge* max_fds_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_METRICS_PROCESS_METRICS_H_
