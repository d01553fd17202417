#include "server/grpc/call_metadata.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/request_id.h"

namespace attune {
namespace {

std::vector<absl::string_view> ValuesOf(const grpc::CallbackServerContext& context,
                                        const char* key) {
  std::vector<absl::string_view> values;
  const auto [begin, end] = context.client_metadata().equal_range(key);
  for (auto entry = begin; entry != end; ++entry) {
    values.emplace_back(entry->second.data(), entry->second.size());
  }
  return values;
}

// The value of `key`; of several, and of none, nothing.
absl::string_view ValueOf(const grpc::CallbackServerContext& context, const char* key) {
  const auto [begin, end] = context.client_metadata().equal_range(key);
  if (begin == end || std::next(begin) != end) return "";
  return {begin->second.data(), begin->second.size()};
}

}  // namespace

std::shared_ptr<CallRecord> BeginCall(CallMonitor& monitor, RpcMethod method,
                                      const grpc::CallbackServerContext& context) {
  return monitor.Begin({.method = method,
                        .transport = Transport::kGrpc,
                        .peer = context.peer(),
                        .request_id = ValueOf(context, kRequestIdHeader),
                        .traceparent = ValueOf(context, "traceparent"),
                        .tracestate = ValuesOf(context, "tracestate")});
}

void RequestIdReply::BeforeMessage() {
  if (std::exchange(sent_, true)) return;
  context_.AddInitialMetadata(kRequestIdHeader, record_.origin().request_id);
}

void RequestIdReply::BeforeFinish(bool ok) {
  if (ok) return BeforeMessage();
  context_.AddTrailingMetadata(kRequestIdHeader, record_.origin().request_id);
}

}  // namespace attune
