#include "server/http/ops_port.h"

#include "engine/base/status_macros.h"
#include "server/http/ops_worker.h"

namespace attune {
namespace {

// Enough for a scrape, the probes and a person at a time, one of whom is slow.
constexpr int kThreads = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartOpsPort(const ServerOptions& options,
                                                         CallMonitor& monitor) {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server,
                          HttpServer::Open(options.ops_address));
  HttpPort port;
  port.monitor = &monitor;
  port.io_timeout = options.http_io_timeout;
  ATTUNE_RETURN_IF_ERROR(
      server->Serve(kThreads, port, [](const HttpPort& served) { OpsWorker(served).Run(); }));
  return server;
}

}  // namespace attune
