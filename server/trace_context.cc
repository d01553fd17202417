#include "server/trace_context.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/trace_state.h"

namespace attune {
namespace {

// Where the fields of "vv-tttttttttttttttttttttttttttttttt-pppppppppppppppp-ff" are.
constexpr size_t kTraceAt = 3;
constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanAt = 36;
constexpr size_t kSpanDigits = 16;
constexpr size_t kFlagsAt = 53;
constexpr size_t kLength = 55;

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool IsHex(absl::string_view text) { return std::all_of(text.begin(), text.end(), IsHexDigit); }

bool IsId(absl::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != absl::string_view::npos;
}

bool IsOdd(char hex_digit) {
  return absl::string_view("13579bdf").find(hex_digit) != std::string::npos;
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view header) {
  if (header.size() < kLength) return std::nullopt;
  const absl::string_view version = header.substr(0, 2);
  if (!IsHex(version) || version == "ff") return std::nullopt;
  // Version 00 ends here; a later one may add fields after another dash.
  if (header.size() > kLength && (version == "00" || header[kLength] != '-')) return std::nullopt;
  for (const size_t dash : {kTraceAt, kSpanAt, kFlagsAt}) {
    if (header[dash - 1] != '-') return std::nullopt;
  }
  const absl::string_view trace_id = header.substr(kTraceAt, kTraceDigits);
  const absl::string_view parent = header.substr(kSpanAt, kSpanDigits);
  const absl::string_view flags = header.substr(kFlagsAt, 2);
  if (!IsId(trace_id) || !IsId(parent) || !IsHex(flags)) return std::nullopt;
  TraceContext trace;
  trace.trace_id = std::string(trace_id);
  trace.parent_span_id = std::string(parent);
  trace.span_id = RandomHex16();
  trace.sampled = IsOdd(flags[1]);
  return trace;
}

TraceContext NewTrace() {
  TraceContext trace;
  trace.trace_id = absl::StrCat(RandomHex16(), RandomHex16());
  trace.span_id = RandomHex16();
  return trace;
}

TraceContext TraceOf(absl::string_view traceparent,
                     absl::Span<const absl::string_view> tracestate) {
  std::optional<TraceContext> given = ParseTraceparent(traceparent);
  if (!given.has_value()) return NewTrace();
  given->tracestate = TraceStateOf(tracestate);
  return *std::move(given);
}

std::string RandomHex16() {
  // Ids need to differ, not to be secret. Never 0, which is no id.
  thread_local absl::InsecureBitGen random;
  const uint64_t id = absl::Uniform<uint64_t>(absl::IntervalClosed, random, 1, UINT64_MAX);
  return absl::StrCat(absl::Hex(id, absl::kZeroPad16));
}

}  // namespace attune
