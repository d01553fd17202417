#include "server/call_monitor.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/error_details.h"
#include "server/request_id.h"
#include "server/tracing/call_spans.h"

namespace attune {
namespace {

// The caller's own mistakes and wishes are news to the caller, not to the operator.
LogLevel LevelOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return LogLevel::kError;
    default:
      return LogLevel::kInfo;
  }
}

void LogCall(const CallRecord& record, const absl::Status& status, absl::Duration duration) {
  LogSampled(LevelOf(status.code()), "call", "a call has ended", [&] {
    const CallOrigin& origin = record.origin();
    const CallCosts costs = record.costs();
    std::vector<LogField> fields = {
        {"request_id", origin.request_id},
        {"trace_id", origin.trace.trace_id},
        {"span_id", origin.trace.span_id},
        {"method", RpcMethodName(origin.method)},
        {"code", status.ok() ? "OK" : absl::StatusCodeToString(status.code())},
        {"texts", costs.texts},
        {"tokens", costs.tokens},
        {"queue_ms", absl::ToDoubleMilliseconds(costs.queued)},
        {"compute_ms", absl::ToDoubleMilliseconds(costs.computing)},
        {"total_ms", absl::ToDoubleMilliseconds(duration)},
        {"peer", origin.peer}};
    const std::string reason = ReasonOf(status);
    if (!reason.empty()) fields.emplace_back("reason", reason);
    if (!origin.trace.parent_span_id.empty()) {
      fields.emplace_back("parent_span_id", origin.trace.parent_span_id);
    }
    return fields;
  });
}

}  // namespace

std::shared_ptr<CallRecord> CallMonitor::Begin(const CallArrival& arrival) {
  CallOrigin origin{arrival.method, arrival.transport, arrival.peer,
                    RequestIdOf(arrival.request_id),
                    TraceOf(arrival.traceparent, arrival.tracestate)};
  auto record = std::make_shared<CallRecord>(*this, std::move(origin));
  metrics_.rpc().Started(arrival.method);
  if (arrival.method == RpcMethod::kStreamAttentionMap) metrics_.work().AttentionStreamOpened();
  MutexLock lock(mu_);
  open_.insert(record.get());
  return record;
}

void CallMonitor::End(CallRecord& record, const absl::Status& status) {
  {
    MutexLock lock(mu_);
    open_.erase(&record);
  }
  const RpcMethod method = record.origin().method;
  const CallCosts costs = record.costs();
  const absl::Time now = SteadyNow();
  const absl::Duration duration = now - record.arrival();
  if (method == RpcMethod::kStreamAttentionMap) metrics_.work().AttentionStreamClosed();
  metrics_.work().CountIfRefused(status);
  metrics_.rpc().Finished(method,
                          {status.code(), duration, costs.request_bytes, costs.response_bytes});
  if (access_log_) LogCall(record, status, duration);
  if (exporter_ != nullptr && record.origin().trace.sampled) {
    exporter_->Export(SpansOfCall(record, status, now, WallClockAhead()));
  }
}

std::vector<OpenCall> CallMonitor::OpenCalls(size_t most, size_t& count) {
  const absl::Time now = SteadyNow();
  std::vector<OpenCall> calls;
  // A record leaves the set before it is gone, so those in it are there while the lock is held.
  MutexLock lock(mu_);
  count = open_.size();
  std::vector<const CallRecord*> oldest(open_.begin(), open_.end());
  const auto end = oldest.begin() + static_cast<ptrdiff_t>(std::min(most, count));
  std::partial_sort(
      oldest.begin(), end, oldest.end(),
      [](const CallRecord* a, const CallRecord* b) { return a->arrival() < b->arrival(); });
  for (auto it = oldest.begin(); it != end; ++it) {
    calls.push_back({(*it)->origin(), now - (*it)->arrival(), (*it)->costs()});
  }
  return calls;
}

}  // namespace attune
