#include "server/open_calls_page.h"

#include <cstddef>
#include <utility>

#include "engine/base/json.h"

namespace attune {
namespace {

constexpr size_t kMostCalls = 1000;

Json Describe(const OpenCall& call) {
  Json described = Json::object();
  described["method"] = std::string(RpcMethodName(call.origin.method));
  described["age_seconds"] = absl::ToDoubleSeconds(call.age);
  described["peer"] = call.origin.peer;
  described["request_id"] = call.origin.request_id;
  described["trace_id"] = call.origin.trace.trace_id;
  described["request_bytes"] = call.costs.request_bytes;
  described["response_bytes"] = call.costs.response_bytes;
  described["texts"] = call.costs.texts;
  described["tokens"] = call.costs.tokens;
  described["compute_ms"] = absl::ToDoubleMilliseconds(call.costs.computing);
  return described;
}

}  // namespace

std::string OpenCallsPage(CallMonitor& monitor) {
  size_t count = 0;
  Json calls = Json::array();
  for (const OpenCall& call : monitor.OpenCalls(kMostCalls, count)) calls.push_back(Describe(call));
  Json page = Json::object();
  page["in_flight"] = count;
  page["calls"] = std::move(calls);
  return DumpJson(page);
}

}  // namespace attune
