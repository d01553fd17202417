// OpenTraceExporter of a program that was built without OTLP.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/tracing/trace_exporter.h"

namespace attune {

absl::StatusOr<std::unique_ptr<TraceExporter>> OpenTraceExporter(const std::string& endpoint) {
  if (endpoint.empty()) return nullptr;
  return absl::InvalidArgumentError(
      absl::StrCat("--otlp-endpoint is ", endpoint,
                   "; this program was built without ATTUNE_OTLP, so it cannot export traces"));
}

}  // namespace attune
