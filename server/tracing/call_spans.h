#ifndef ATTUNE_SERVER_TRACING_CALL_SPANS_H_
#define ATTUNE_SERVER_TRACING_CALL_SPANS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/call_record.h"
#include "server/tracing/span.h"

namespace attune {

// A call that ended at `end` with `status`, as spans: the call itself, child of the caller's span,
// and within it `tokenize`, `queue` and `compute`, as far as it got. However many texts a call or
// stream has, each of the three is one span, from when it first began to when it last ended, so
// that they overlap where some texts wait while others are computed. Names and attributes follow
// https://opentelemetry.io/docs/specs/semconv/rpc/; what is ours begins with "attune.".
//
// Other processes' spans of the same trace have the times of the wall clock, so these do, too: it
// is `wall_clock_ahead` of `end` and of what `record` tells.
std::vector<Span> SpansOfCall(const CallRecord& record, const absl::Status& status, absl::Time end,
                              absl::Duration wall_clock_ahead);

}  // namespace attune

#endif  // ATTUNE_SERVER_TRACING_CALL_SPANS_H_
