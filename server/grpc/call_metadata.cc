#include "server/grpc/call_metadata.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "server/request_id.h"

namespace attune {
namespace {

// The value of `key`; of several, and of none, nothing.
absl::string_view ValueOf(const grpc::CallbackServerContext& context, const char* key) {
  const auto range = context.client_metadata().equal_range(key);
  if (range.first == range.second || std::next(range.first) != range.second) return "";
  const grpc::string_ref value = range.first->second;
  return {value.data(), value.size()};
}

}  // namespace

std::shared_ptr<CallRecord> BeginCall(CallMonitor& monitor, RpcMethod method,
                                      const grpc::CallbackServerContext& context) {
  return monitor.Begin(method, context.peer(), ValueOf(context, kRequestIdHeader),
                       ValueOf(context, "traceparent"));
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
