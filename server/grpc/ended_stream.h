#ifndef ATTUNE_SERVER_GRPC_ENDED_STREAM_H_
#define ATTUNE_SERVER_GRPC_ENDED_STREAM_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/status.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"

namespace attune {

// Ends a streaming call at once, with an error. Lives until OnDone.
template <typename Reactor>
class EndedStream final : public Reactor {
 public:
  EndedStream(grpc::CallbackServerContext& context, CallRecord& record,
              const absl::Status& status) {
    RequestIdReply(context, record).BeforeFinish(status.ok());
    record.Finish(status);
    HandOver(this);
    this->Finish(EndOfCall(status, context));
  }
  void OnDone() override {
    TakeOver(this);
    delete this;
  }
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_ENDED_STREAM_H_
