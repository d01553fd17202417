#include "server/http/http_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "engine/base/status_macros.h"
#include "server/http/host_port.h"
#include "server/start_threads.h"

namespace attune {

HttpServer::HttpServer(const std::string& address, Listener listener, FileDescriptor stop)
    : address_(address), listener_(std::move(listener)), stop_(std::move(stop)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Open(const std::string& address) {
  ATTUNE_ASSIGN_OR_RETURN(Listener listener, OpenListener(address));
  FileDescriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) return absl::InternalError("the process has no free file descriptor");
  return std::unique_ptr<HttpServer>(new HttpServer(address, std::move(listener), std::move(stop)));
}

absl::Status HttpServer::Serve(int threads, HttpPort port,
                               const std::function<void(const HttpPort& port)>& run_worker) {
  port.ready = &ready_;
  port.listening = listener_.socket.get();
  port.stop = stop_.get();
  const std::optional<HostPort> address = SplitHostPort(address_);
  port.check_host = address.has_value() && IsLoopbackHost(address->host);
  return StartThreads(
      "HTTP", threads, [port, run_worker](int /*thread*/) { run_worker(port); }, workers_);
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
