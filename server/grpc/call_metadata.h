// What a call's metadata say about it, and what ours say back.
#ifndef ATTUNE_SERVER_GRPC_CALL_METADATA_H_
#define ATTUNE_SERVER_GRPC_CALL_METADATA_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "server/call_monitor.h"
#include "server/call_record.h"

namespace attune {

// A call of `method` has arrived.
std::shared_ptr<CallRecord> BeginCall(CallMonitor& monitor, RpcMethod method,
                                      const grpc::CallbackServerContext& context);

// Gives the request id back: with what comes before the first message, or in the trailers of an
// error, which must be all of a refusal for clients to retry it. Thread-compatible.
class RequestIdReply {
 public:
  // Borrowed until the call is over.
  RequestIdReply(grpc::CallbackServerContext& context, const CallRecord& record)
      : context_(context), record_(record) {}

  void BeforeMessage();
  void BeforeFinish(bool ok);

 private:
  grpc::CallbackServerContext& context_;
  const CallRecord& record_;
  bool sent_ = false;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_CALL_METADATA_H_
