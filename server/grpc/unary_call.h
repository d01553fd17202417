#ifndef ATTUNE_SERVER_GRPC_UNARY_CALL_H_
#define ATTUNE_SERVER_GRPC_UNARY_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/call.h"
#include "server/call_gate.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/grpc_status.h"
#include "server/grpc/reactor_order.h"

namespace attune {

// gRPC's side of one unary call. Lives until OnDone, which gRPC calls after the one Answer.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // `gate` and `context` are borrowed until OnDone.
  UnaryCall(CallGate& gate, grpc::CallbackServerContext& context, absl::Time deadline,
            std::string client, std::shared_ptr<CallRecord> record)
      : gate_(gate),
        context_(context),
        request_id_(context, *record),
        call_(std::make_shared<Call>(deadline, std::move(client), WorkClass::kInteractive,
                                     std::move(record))) {
    HandOver(this);
  }

  const std::shared_ptr<Call>& call() const { return call_; }

  // What answers, held until the call is over.
  void Hold(std::shared_ptr<const Backend> backend) {
    backend_ = std::move(backend);
    HandOver(this);
  }

  // Exactly once; the object may be gone when it returns.
  void Answer(const absl::Status& status) {
    request_id_.BeforeFinish(status.ok());
    // Before the client can know, so that who has an answer finds it counted.
    call_->record()->Finish(status);
    HandOver(this);
    Finish(EndOfCall(status, context_));
  }

  // May run at the same time as Answer.
  void OnCancel() override {
    TakeOver(this);
    call_->Cancel();
    HandOver(this);
  }

  void OnDone() override {
    TakeOver(this);
    CallGate& gate = gate_;
    delete this;
    gate.Leave();
  }

 private:
  CallGate& gate_;
  grpc::CallbackServerContext& context_;
  RequestIdReply request_id_;
  const std::shared_ptr<Call> call_;
  std::shared_ptr<const Backend> backend_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_UNARY_CALL_H_
