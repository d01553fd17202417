#ifndef ATTUNE_SERVER_TRACING_SPAN_H_
#define ATTUNE_SERVER_TRACING_SPAN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/activity.h"

namespace attune {

// A named stretch of time of a trace, as OpenTelemetry defines it. Holds nothing of a call's input.
struct Span {
  enum class Kind {
    kServer,    // a whole call
    kInternal,  // a part of one
  };
  using Attribute = std::pair<absl::string_view, std::variant<int64_t, std::string>>;

  std::string name;
  Kind kind = Kind::kInternal;
  // As in TraceContext.
  std::string trace_id;
  std::string span_id;
  std::string parent_span_id;
  std::string tracestate;
  TimeRange time;
  std::vector<Attribute> attributes;  // names are constants
  bool failed = false;                // for a reason that is not the caller's
};

}  // namespace attune

#endif  // ATTUNE_SERVER_TRACING_SPAN_H_
