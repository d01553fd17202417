#ifndef ATTUNE_SERVER_GRPC_UNKNOWN_METHODS_H_
#define ATTUNE_SERVER_GRPC_UNKNOWN_METHODS_H_

#include <grpcpp/generic/async_generic_service.h>

#include "server/call_monitor.h"

namespace attune {

// Answers the calls that no service takes with UNIMPLEMENTED, as gRPC by itself would, so that they
// are counted. Thread-safe.
class UnknownMethods final : public grpc::CallbackGenericService {
 public:
  // Borrowed.
  explicit UnknownMethods(CallMonitor& monitor);

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  CallMonitor& monitor_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_UNKNOWN_METHODS_H_
