#include "server/http/api_port.h"

#include "engine/base/status_macros.h"
#include "server/http/http_worker.h"

namespace attune {

absl::StatusOr<std::unique_ptr<HttpServer>> StartApiPort(const ServerOptions& options,
                                                         CallGate& gate, const PortGuard& guard,
                                                         CallMonitor& monitor) {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server,
                          HttpServer::Open(options.http_address));
  HttpPort port;
  port.gate = &gate;
  port.guard = &guard;
  port.monitor = &monitor;
  port.max_body_bytes = options.max_message_bytes;
  port.io_timeout = options.http_io_timeout;
  port.max_deadline = options.max_deadline;
  ATTUNE_RETURN_IF_ERROR(server->Serve(options.http_threads, port,
                                       [](const HttpPort& served) { HttpWorker(served).Run(); }));
  return server;
}

}  // namespace attune
