// Everything the server counts, in the text format that Prometheus scrapes.
#ifndef ATTUNE_SERVER_METRICS_METRICS_H_
#define ATTUNE_SERVER_METRICS_METRICS_H_

#include <prometheus/registry.h>

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "engine/base/mutex.h"
#include "server/metrics/process_metrics.h"
#include "server/metrics/rpc_metrics.h"
#include "server/metrics/server_metrics.h"
#include "server/metrics/work_metrics.h"

namespace attune {

// The closed set of families, one object for each concern. Every series exists from the start, and
// no label takes a value from outside, so their number is fixed. Thread-safe.
class Metrics {
 public:
  RpcMetrics& rpc() { return rpc_; }
  WorkMetrics& work() { return work_; }
  ServerMetrics& server() { return server_; }

  // Asked at each scrape. A function is not called any more once another, or none, is set.
  void SetLoadSource(std::function<WorkLoad()> source);
  void SetGuardSource(std::function<GuardCounts()> source);

  // All series, as https://prometheus.io/docs/instrumenting/exposition_formats/ says.
  std::string Text();
  // What Text is.
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  prometheus::Registry registry_;
  RpcMetrics rpc_{registry_};
  WorkMetrics work_{registry_};
  ServerMetrics server_{registry_};
  ProcessMetrics process_{registry_};

  Mutex mu_;
  std::function<WorkLoad()> load_source_ ABSL_GUARDED_BY(mu_);
  std::function<GuardCounts()> guard_source_ ABSL_GUARDED_BY(mu_);
};

}  // namespace attune

#endif  // ATTUNE_SERVER_METRICS_METRICS_H_
