#include "server/http/ops_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "engine/base/status_macros.h"
#include "server/http/host_port.h"
#include "server/http/ops_worker.h"

namespace attune {
namespace {

// Enough for a scrape, the probes and a person at a time, one of whom is slow.
constexpr int kThreads = 4;

}  // namespace

OpsServer::OpsServer(Listener listener, FileDescriptor stop)
    : listener_(std::move(listener)), stop_(std::move(stop)) {}

absl::StatusOr<std::unique_ptr<OpsServer>> OpsServer::Start(const ServerOptions& options,
                                                            CallMonitor& monitor) {
  ATTUNE_ASSIGN_OR_RETURN(Listener listener, OpenListener(options.ops_address));
  FileDescriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) return absl::InternalError("the process has no free file descriptor");
  std::unique_ptr<OpsServer> server(new OpsServer(std::move(listener), std::move(stop)));

  HttpPort port;
  port.monitor = &monitor;
  port.ready = &server->ready_;
  port.listening = server->listener_.socket.get();
  port.stop = server->stop_.get();
  const std::optional<HostPort> address = SplitHostPort(options.ops_address);
  port.check_host = address.has_value() && IsLoopbackHost(address->host);
  port.io_timeout = options.http_io_timeout;
  for (int i = 0; i < kThreads; ++i) {
    server->workers_.emplace_back([port] { OpsWorker(port).Run(); });
  }
  return server;
}

void OpsServer::Stop() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  listener_.socket = FileDescriptor();
}

}  // namespace attune
