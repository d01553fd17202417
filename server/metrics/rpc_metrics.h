#ifndef ATTUNE_SERVER_METRICS_RPC_METRICS_H_
#define ATTUNE_SERVER_METRICS_RPC_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/rpc_method.h"

namespace attune {

// How a call ended. A stream's bytes are those of all its messages.
struct RpcOutcome {
  absl::StatusCode code = absl::StatusCode::kOk;
  absl::Duration duration;
  int64_t request_bytes = 0;
  int64_t response_bytes = 0;
};

// Calls by method: started, in flight, how long and how large. A stream counts as one call, like a
// unary one. All series exist from the start, so that a rate sees the first error. Thread-safe;
// counting allocates nothing.
class RpcMetrics {
 public:
  // `registry` owns the series and outlives this.
  explicit RpcMetrics(prometheus::Registry& registry);

  // Each Started is followed by one Finished.
  void Started(RpcMethod method);
  void Finished(RpcMethod method, const RpcOutcome& outcome);

 private:
  // The codes that the server answers with, and UNKNOWN for any other.
  static constexpr size_t kCodes = 13;

  struct Method {
    prometheus::Counter* started = nullptr;
    prometheus::Gauge* in_flight = nullptr;
    prometheus::Histogram* request_bytes = nullptr;
    prometheus::Histogram* response_bytes = nullptr;
    std::array<prometheus::Histogram*, kCodes> duration = {};
  };

  Method& Of(RpcMethod method) { return methods_[static_cast<size_t>(method)]; }

  std::array<Method, kRpcMethods.size()> methods_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_METRICS_RPC_METRICS_H_
