// W3C Trace Context: what the tracing systems that a call has passed through say to each other.
#ifndef ATTUNE_SERVER_TRACE_STATE_H_
#define ATTUNE_SERVER_TRACE_STATE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace attune {

// What the lines of a call's `tracestate` header say together, "vendor=opaque,other=opaque", to be
// handed on as it is. Empty if there is none, or if it is longer than 512 bytes, has more than 32
// members, or is not of that form. Source: https://www.w3.org/TR/trace-context/, section 3.3.
std::string TraceStateOf(absl::Span<const absl::string_view> lines);

}  // namespace attune

#endif  // ATTUNE_SERVER_TRACE_STATE_H_
