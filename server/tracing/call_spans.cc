#include "server/tracing/call_spans.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace attune {
namespace {

constexpr absl::string_view kService = "attune.v1.EncoderService";

// What the conventions call an error of a server's span; the other codes are the caller's.
bool IsServersFault(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

std::string SpanName(RpcMethod method) {
  const absl::string_view name = RpcMethodName(method);
  return method == RpcMethod::kOther ? std::string(name) : absl::StrCat(kService, "/", name);
}

std::vector<Span::Attribute> AttributesOfCall(const CallRecord& record,
                                              const absl::Status& status) {
  const CallOrigin& origin = record.origin();
  const CallCosts costs = record.costs();
  std::vector<Span::Attribute> attributes = {
      {"rpc.method", std::string(RpcMethodName(origin.method))},
      {"attune.request_id", origin.request_id},
      {"attune.texts", costs.texts},
      {"attune.tokens", costs.tokens}};
  if (origin.method != RpcMethod::kOther) {
    attributes.emplace_back("rpc.service", std::string(kService));
  }
  switch (origin.transport) {
    case Transport::kGrpc:
      attributes.emplace_back("rpc.system", "grpc");
      attributes.emplace_back("rpc.grpc.status_code", int64_t{status.raw_code()});
      break;
    case Transport::kHttp:
      attributes.emplace_back("rpc.system", "http_json");
      break;
  }
  if (!status.ok()) {
    attributes.emplace_back("error.type", absl::StatusCodeToString(status.code()));
  }
  return attributes;
}

Span SpanOfCall(const CallRecord& record, const absl::Status& status, absl::Time end) {
  const TraceContext& trace = record.origin().trace;
  Span span;
  span.name = SpanName(record.origin().method);
  span.kind = Span::Kind::kServer;
  span.trace_id = trace.trace_id;
  span.span_id = trace.span_id;
  span.parent_span_id = trace.parent_span_id;
  span.tracestate = trace.tracestate;
  span.time = {record.arrival(), end};
  span.attributes = AttributesOfCall(record, status);
  span.failed = IsServersFault(status.code());
  return span;
}

// A part of `call`, which it does not outlast: work that nobody waited for any more is not of it.
Span PartOf(const Span& call, absl::string_view name, const TimeRange& time) {
  Span span;
  span.name = std::string(name);
  span.trace_id = call.trace_id;
  span.span_id = RandomHex16();
  span.parent_span_id = call.span_id;
  span.tracestate = call.tracestate;
  span.time.start = std::clamp(time.start, call.time.start, call.time.end);
  span.time.end = std::clamp(time.end, span.time.start, call.time.end);
  return span;
}

}  // namespace

std::vector<Span> SpansOfCall(const CallRecord& record, const absl::Status& status, absl::Time end,
                              absl::Duration wall_clock_ahead) {
  std::vector<Span> spans = {SpanOfCall(record, status, end)};
  const Span call = spans.front();
  const CallPhases phases = record.phases(end);
  if (phases.tokenizing.has_value()) {
    spans.push_back(PartOf(call, "tokenize", *phases.tokenizing));
  }
  if (phases.queued.has_value()) spans.push_back(PartOf(call, "queue", *phases.queued));
  if (phases.computing.has_value()) spans.push_back(PartOf(call, "compute", *phases.computing));
  for (Span& span : spans) {
    span.time.start += wall_clock_ahead;
    span.time.end += wall_clock_ahead;
  }
  return spans;
}

}  // namespace attune
