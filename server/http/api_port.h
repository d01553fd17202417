// The HTTP port: the unary methods of the API as JSON, probes, and the dashboard.
#ifndef ATTUNE_SERVER_HTTP_API_PORT_H_
#define ATTUNE_SERVER_HTTP_API_PORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/call_gate.h"
#include "server/call_monitor.h"
#include "server/http/http_server.h"
#include "server/security/port_guard.h"
#include "server/server_options.h"

namespace attune {

// Opens options.http_address and serves
//   POST /v1/encode, /v1/attention-map, ...   one method each; the body is the request in the
//                                             protobuf JSON mapping, an error a google.rpc.Status
//   GET  /v1/model                            GetModel again
//   GET  /livez, /readyz                      200 or 503
//   GET  /                                    the dashboard: a page that uses the above
// Bodies are bounded by max_message_bytes, connections by http_threads, and the time of either
// direction by http_io_timeout. Every reply closes its connection. Other sites' pages get no answer
// they could read: there are no CORS headers.
//
// Calls go through `gate` and are watched by `monitor`, and they and connections go past `guard`;
// all of them are borrowed. Errors name the address.
absl::StatusOr<std::unique_ptr<HttpServer>> StartApiPort(const ServerOptions& options,
                                                         CallGate& gate, const PortGuard& guard,
                                                         CallMonitor& monitor);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_API_PORT_H_
