#include "server/grpc/unknown_methods.h"

#include <memory>

#include "absl/status/status.h"
#include "server/grpc/call_metadata.h"
#include "server/grpc/ended_stream.h"
#include "server/grpc/reactor_order.h"

namespace attune {

UnknownMethods::UnknownMethods(CallMonitor& monitor) : monitor_(monitor) { HandOver(this); }

grpc::ServerGenericBidiReactor* UnknownMethods::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  TakeOver(this);
  const std::shared_ptr<CallRecord> record = BeginCall(monitor_, RpcMethod::kOther, *context);
  return new EndedStream<grpc::ServerGenericBidiReactor>(
      *context, *record, absl::UnimplementedError("this server has no such method"));
}

}  // namespace attune
