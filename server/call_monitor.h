#ifndef ATTUNE_SERVER_CALL_MONITOR_H_
#define ATTUNE_SERVER_CALL_MONITOR_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/base/mutex.h"
#include "server/call_record.h"
#include "server/metrics/metrics.h"
#include "server/tracing/trace_exporter.h"

namespace attune {

// A call that arrives, as its transport sees it: what asks for what, and what its headers say. Only
// the method is always known.
struct CallArrival {
  RpcMethod method = RpcMethod::kOther;
  Transport transport = Transport::kGrpc;
  std::string peer = {};
  absl::string_view request_id = {};
  absl::string_view traceparent = {};
  std::vector<absl::string_view> tracestate = {};  // each line of the header, in order
};

// A call in flight, as it was a moment ago.
struct OpenCall {
  CallOrigin origin;
  absl::Duration age;
  CallCosts costs;
};

// Watches the calls of every transport: counts them, logs each when it ends, exports those that are
// traced, and knows which are in flight. Thread-safe; outlives its records.
class CallMonitor {
 public:
  // With `access_log`, every call that ends is a line in the log, as far as the log takes them.
  // `exporter`, borrowed, gets the spans of the calls whose caller samples their trace; null:
  // nobody does.
  explicit CallMonitor(bool access_log, TraceExporter* exporter = nullptr)
      : access_log_(access_log), exporter_(exporter) {}

  std::shared_ptr<CallRecord> Begin(const CallArrival& arrival);

  Metrics& metrics() { return metrics_; }

  // The `most` oldest calls in flight, oldest first; `count` becomes how many there are in all.
  std::vector<OpenCall> OpenCalls(size_t most, size_t& count);

 private:
  friend class CallRecord;
  // Of each record once.
  void End(CallRecord& record, const absl::Status& status);

  const bool access_log_;
  TraceExporter* const exporter_;
  Metrics metrics_;
  Mutex mu_;
  absl::flat_hash_set<CallRecord*> open_ ABSL_GUARDED_BY(mu_);
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CALL_MONITOR_H_
