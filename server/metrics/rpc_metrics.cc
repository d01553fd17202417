#include "server/metrics/rpc_metrics.h"

#include <algorithm>
#include <string>

#include "server/metrics/buckets.h"

namespace attune {
namespace {

using absl::StatusCode;

// The last one stands for all that are not here.
constexpr std::array<StatusCode, 13> kAnswers = {
    StatusCode::kOk,
    StatusCode::kCancelled,
    StatusCode::kInvalidArgument,
    StatusCode::kDeadlineExceeded,
    StatusCode::kNotFound,
    StatusCode::kPermissionDenied,
    StatusCode::kResourceExhausted,
    StatusCode::kFailedPrecondition,
    StatusCode::kUnimplemented,
    StatusCode::kInternal,
    StatusCode::kUnavailable,
    StatusCode::kUnauthenticated,
    StatusCode::kUnknown,
};

size_t IndexOf(StatusCode code) {
  const auto found = std::find(kAnswers.begin(), kAnswers.end() - 1, code);
  return static_cast<size_t>(found - kAnswers.begin());
}

}  // namespace

RpcMetrics::RpcMetrics(prometheus::Registry& registry) {
  static_assert(kAnswers.size() == kCodes);
  auto& started = prometheus::BuildCounter()
                      .Name("attune_rpc_started_total")
                      .Help("Calls that have arrived, refused ones included")
                      .Register(registry);
  auto& in_flight = prometheus::BuildGauge()
                        .Name("attune_rpc_in_flight")
                        .Help("Calls that are not answered yet")
                        .Register(registry);
  auto& duration = prometheus::BuildHistogram()
                       .Name("attune_rpc_duration_seconds")
                       .Help("Time from a call's arrival to its answer; of a stream, to its end")
                       .Register(registry);
  auto& request_bytes = prometheus::BuildHistogram()
                            .Name("attune_rpc_request_bytes")
                            .Help("Size of a call's request, of a stream's all together")
                            .Register(registry);
  auto& response_bytes = prometheus::BuildHistogram()
                             .Name("attune_rpc_response_bytes")
                             .Help("Size of a call's response, of a stream's all together")
                             .Register(registry);
  for (const RpcMethod method : kRpcMethods) {
    const std::string name(RpcMethodName(method));
    Method& series = Of(method);
    series.started = &started.Add({{"method", name}});
    series.in_flight = &in_flight.Add({{"method", name}});
    series.request_bytes = &request_bytes.Add({{"method", name}}, ByteBuckets());
    series.response_bytes = &response_bytes.Add({{"method", name}}, ByteBuckets());
    for (size_t i = 0; i < kCodes; ++i) {
      series.duration[i] = &duration.Add(
          {{"method", name}, {"code", absl::StatusCodeToString(kAnswers[i])}}, DurationBuckets());
    }
  }
}

void RpcMetrics::Started(RpcMethod method) {
  Of(method).started->Increment();
  Of(method).in_flight->Increment();
}

void RpcMetrics::Finished(RpcMethod method, const RpcOutcome& outcome) {
  Method& series = Of(method);
  series.in_flight->Decrement();
  series.duration[IndexOf(outcome.code)]->Observe(absl::ToDoubleSeconds(outcome.duration));
  series.request_bytes->Observe(static_cast<double>(outcome.request_bytes));
  series.response_bytes->Observe(static_cast<double>(outcome.response_bytes));
}

}  // namespace attune
