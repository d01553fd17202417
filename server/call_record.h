#ifndef ATTUNE_SERVER_CALL_RECORD_H_
#define ATTUNE_SERVER_CALL_RECORD_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/activity.h"
#include "server/rpc_method.h"
#include "server/trace_context.h"

namespace attune {

class CallMonitor;

enum class Transport { kGrpc, kHttp };

// What is known of a call when it arrives. Nothing of its input.
struct CallOrigin {
  RpcMethod method = RpcMethod::kOther;
  Transport transport = Transport::kGrpc;
  std::string peer;  // as the transport names it, "ipv4:127.0.0.1:50000"
  std::string request_id;
  TraceContext trace;
};

// What a call has cost so far.
struct CallCosts {
  int64_t request_bytes = 0;
  int64_t response_bytes = 0;
  int64_t texts = 0;
  int64_t tokens = 0;
  absl::Duration queued;  // the longest wait of one of its texts
  // All time of threads on it, which may have run side by side; that of a batch as a whole.
  absl::Duration tokenizing;
  absl::Duration computing;
};

// When each kind of work on a call was done, as far as there was any: from its first text to its
// last.
struct CallPhases {
  std::optional<TimeRange> tokenizing;
  std::optional<TimeRange> queued;
  std::optional<TimeRange> computing;
};

// The story of one call, from its arrival to its end, told by whoever works on it: counted, logged
// and shown from this one place. Made by CallMonitor::Begin. Thread-safe.
class CallRecord {
 public:
  // Use CallMonitor::Begin. `monitor` is borrowed.
  CallRecord(CallMonitor& monitor, CallOrigin origin);
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;
  // A call that nobody finished ends with kUnknown.
  ~CallRecord();

  const CallOrigin& origin() const { return origin_; }
  absl::Time arrival() const { return arrival_; }
  CallCosts costs() const;
  // What goes on still goes on until `now`.
  CallPhases phases(absl::Time now) const;

  void AddRequestBytes(int64_t bytes) { Add(request_bytes_, bytes); }
  void AddResponseBytes(int64_t bytes) { Add(response_bytes_, bytes); }
  // What the model is to read for it.
  void AddInputs(int64_t texts, int64_t tokens);
  // Some of its texts, of which `truncated_texts` were cut.
  void Tokenized(const TimeRange& time, int64_t truncated_texts);
  // So many of its texts wait for a worker from now on.
  void BeginQueue(int64_t texts, absl::Time now);
  // One of them, which began to wait at `since`, has got a worker.
  void EndQueue(absl::Time since, absl::Time now);
  // A worker is at work on the call until EndCompute. Several may be, on different texts.
  void BeginCompute(absl::Time now);
  void EndCompute(absl::Time now);
  void NonFiniteOutput();
  // How long a message waited for its client to take it.
  void WriteWaited(absl::Duration duration);

  // The call is over for its client. The first time counts.
  void Finish(const absl::Status& status);

 private:
  static void Add(std::atomic<int64_t>& sum, int64_t value) {
    sum.fetch_add(value, std::memory_order_relaxed);
  }

  CallMonitor& monitor_;
  const CallOrigin origin_;
  const absl::Time arrival_;

  std::atomic<bool> finished_{false};
  std::atomic<int64_t> request_bytes_{0};
  std::atomic<int64_t> response_bytes_{0};
  std::atomic<int64_t> texts_{0};
  std::atomic<int64_t> tokens_{0};
  std::atomic<int64_t> longest_queued_ns_{0};
  Activity tokenizing_;
  Activity queued_;
  Activity computing_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_CALL_RECORD_H_
