// W3C Trace Context: which trace a call belongs to.
#ifndef ATTUNE_SERVER_TRACE_CONTEXT_H_
#define ATTUNE_SERVER_TRACE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attune {

struct TraceContext {
  std::string trace_id;        // 32 digits, lower-case hexadecimal, not all 0
  std::string parent_span_id;  // 16 such digits; empty where the trace begins here
  std::string span_id;         // 16 such digits: this server's part
  bool sampled = false;
  std::string tracestate;  // as it came; empty if there is none
};

// The trace that a `traceparent` header names: "00-<trace id>-<span id>-<flags>", lower case. Of
// later versions the same four fields are read, whatever follows them. Nothing for any fault.
// span_id is a fresh one. Source: https://www.w3.org/TR/trace-context/, section 3.2.
std::optional<TraceContext> ParseTraceparent(absl::string_view header);

// A trace of its own.
TraceContext NewTrace();

// What the call belongs to: the trace of `traceparent`, or a new one if that is empty or faulty, so
// that a bad header never fails a call. `tracestate` are the lines of the header of that name,
// which says something about that trace only.
TraceContext TraceOf(absl::string_view traceparent,
                     absl::Span<const absl::string_view> tracestate = {});

// 16 digits, lower-case hexadecimal, random.
std::string RandomHex16();

}  // namespace attune

#endif  // ATTUNE_SERVER_TRACE_CONTEXT_H_
