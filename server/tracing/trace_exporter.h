// The way of spans out of the process. What is behind it is chosen when the program is built:
// ATTUNE_OTLP.
#ifndef ATTUNE_SERVER_TRACING_TRACE_EXPORTER_H_
#define ATTUNE_SERVER_TRACING_TRACE_EXPORTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/tracing/span.h"

namespace attune {

// Thread-safe.
class TraceExporter {
 public:
  virtual ~TraceExporter() = default;

  // Takes spans to be sent a moment later. Never waits: with too many to be sent already, drops
  // them, which is logged, as are those that could not be sent.
  virtual void Export(const std::vector<Span>& spans) = 0;

  // Returns once all that was taken has been sent or given up, or after `patience`.
  virtual void Flush(absl::Duration patience) = 0;
};

// Sends to `endpoint` by OTLP over gRPC; null if that is empty. kInvalidArgument naming
// --otlp-endpoint if it is not of the form http://HOST:PORT or https://HOST:PORT, or if this
// program was built without OTLP. That nobody listens there is no error.
absl::StatusOr<std::unique_ptr<TraceExporter>> OpenTraceExporter(const std::string& endpoint);

}  // namespace attune

#endif  // ATTUNE_SERVER_TRACING_TRACE_EXPORTER_H_
