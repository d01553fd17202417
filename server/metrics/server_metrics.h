#ifndef ATTUNE_SERVER_METRICS_SERVER_METRICS_H_
#define ATTUNE_SERVER_METRICS_SERVER_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "engine/base/mutex.h"

namespace attune {

// The model as its series names it.
struct ModelLabels {
  std::string name;
  std::string version;
  std::string dtype;
  std::string isa;
  std::string sha256;
};

// What stands before the ports has done since the start.
struct GuardCounts {
  int64_t auth_failures = 0;
  int64_t tls_reload_failures = 0;
  // When the certificate in use ends; nothing without TLS.
  std::optional<absl::Time> certificate_expiry;
};

// The server as a whole: what it runs, whether it serves, its certificate and tokens. Thread-safe.
class ServerMetrics {
 public:
  // `registry` owns the series and outlives this. Until SetModel the model's labels are empty.
  explicit ServerMetrics(prometheus::Registry& registry);

  void SetReady(bool ready) { ready_->Set(ready ? 1 : 0); }
  // Takes the place of the model before.
  void SetModel(const ModelLabels& model);
  // The bound of the memory plan.
  void SetMemoryBudget(int64_t bytes) { memory_budget_bytes_->Set(static_cast<double>(bytes)); }
  // One call at a time; counts only grow.
  void SetGuard(const GuardCounts& counts);

 private:
  prometheus::Gauge* ready_;
  prometheus::Gauge* memory_budget_bytes_;
  prometheus::Gauge* tls_cert_expiry_;
  prometheus::Counter* tls_reload_failures_;
  prometheus::Counter* auth_failures_;
  prometheus::Family<prometheus::Gauge>* model_info_;

  Mutex mu_;
  prometheus::Gauge* model_ ABSL_GUARDED_BY(mu_);  // the one series of model_info_
};

}  // namespace attune

#endif  // ATTUNE_SERVER_METRICS_SERVER_METRICS_H_
