#ifndef ATTUNE_SERVER_GRPC_LIBRARY_LOGS_H_
#define ATTUNE_SERVER_GRPC_LIBRARY_LOGS_H_

namespace attune {

// Makes libgrpc and libprotobuf, which write to stderr in forms of their own, log as the rest of
// the process does: events "grpc" and "protobuf". Before their first use, once.
void LogForLibraries();

}  // namespace attune

#endif  // ATTUNE_SERVER_GRPC_LIBRARY_LOGS_H_
