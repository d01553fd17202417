// The parsers of traceparent and tracestate: what they accept must be made of the header's own
// bytes, in the form that a header of ours would have; and no header leaves a call without ids.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/check.h"
#include "server/request_id.h"
#include "server/trace_context.h"
#include "server/trace_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view header(reinterpret_cast<const char*>(data), size);
  const std::optional<attune::TraceContext> trace = attune::ParseTraceparent(header);
  if (trace.has_value()) {
    const std::string fields = absl::StrCat("-", trace->trace_id, "-", trace->parent_span_id, "-");
    ATTUNE_CHECK(header.substr(2, fields.size()) == fields);
    ATTUNE_CHECK(attune::ParseTraceparent(absl::StrCat("00", fields, "00")).has_value());
    ATTUNE_CHECK(!absl::StartsWith(header, "ff"));
  }
  const attune::TraceContext used = attune::TraceOf(header);
  ATTUNE_CHECK(used.trace_id.size() == 32 && used.span_id.size() == 16);
  const std::string state = attune::TraceStateOf({header});
  ATTUNE_CHECK(state.empty() || (state == header && state.size() <= 512));
  ATTUNE_CHECK(attune::IsRequestId(attune::RequestIdOf(header)));
  return 0;
}
