// The operator's port: metrics, probes, and what is in flight.
#ifndef ATTUNE_SERVER_HTTP_OPS_PORT_H_
#define ATTUNE_SERVER_HTTP_OPS_PORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/call_monitor.h"
#include "server/http/http_server.h"
#include "server/server_options.h"

namespace attune {

// Opens options.ops_address and serves
//   GET  /metrics          for Prometheus
//   GET  /livez, /readyz   200 or 503: the health names "liveness" and ""
//   GET  /debug/calls      the calls in flight, as JSON
// It has threads of its own and asks nothing of those that serve, so it answers however busy they
// are. Connections and times are bounded as on the HTTP port. It is not encrypted and asks for no
// token. `monitor` is borrowed. Errors name the address.
absl::StatusOr<std::unique_ptr<HttpServer>> StartOpsPort(const ServerOptions& options,
                                                         CallMonitor& monitor);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_OPS_PORT_H_
