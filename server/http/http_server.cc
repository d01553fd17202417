#include "server/http/http_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "engine/base/status_macros.h"
#include "server/http/host_port.h"
#include "server/http/http_worker.h"

namespace attune {

HttpServer::HttpServer(Listener listener, FileDescriptor stop)
    : listener_(std::move(listener)), stop_(std::move(stop)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const ServerOptions& options,
                                                              CallGate& gate,
                                                              const PortGuard& guard,
                                                              CallMonitor& monitor) {
  ATTUNE_ASSIGN_OR_RETURN(Listener listener, OpenListener(options.http_address));
  FileDescriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) return absl::InternalError("the process has no free file descriptor");
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(listener), std::move(stop)));

  HttpPort port;
  port.gate = &gate;
  port.guard = &guard;
  port.monitor = &monitor;
  port.ready = &server->ready_;
  port.listening = server->listener_.socket.get();
  port.stop = server->stop_.get();
  const std::optional<HostPort> address = SplitHostPort(options.http_address);
  port.check_host = address.has_value() && IsLoopbackHost(address->host);
  port.max_body_bytes = options.max_message_bytes;
  port.io_timeout = options.http_io_timeout;
  port.max_deadline = options.max_deadline;
  for (int i = 0; i < options.http_threads; ++i) {
    server->workers_.emplace_back([port] { HttpWorker(port).Run(); });
  }
  return server;
}

void HttpServer::Stop() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  listener_.socket = FileDescriptor();
}

}  // namespace attune
