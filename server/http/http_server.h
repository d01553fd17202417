#ifndef ATTUNE_SERVER_HTTP_HTTP_SERVER_H_
#define ATTUNE_SERVER_HTTP_HTTP_SERVER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/http/http_worker.h"
#include "server/http/listener.h"

namespace attune {

// A port that speaks HTTP, and the threads that serve its connections, one at a time each.
// Thread-safe once it serves.
class HttpServer {
 public:
  // Opens `address`, HOST:PORT. Errors name it.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Open(const std::string& address);

  // Starts `threads` threads that each run run_worker(port), where `port` has been told what this
  // object knows. Fewer where the system has no more; kResourceExhausted if it has none. Once.
  absl::Status Serve(int threads, HttpPort port,
                     const std::function<void(const HttpPort& port)>& run_worker);

  // What /readyz says; false at first.
  void SetReady(bool ready) { ready_.store(ready); }

  // Closes the port and every connection, and waits for the threads. Calls in progress are
  // cancelled.
  void Stop();

  ~HttpServer() { Stop(); }

  int port() const { return listener_.port; }

 private:
  HttpServer(const std::string& address, Listener listener, FileDescriptor stop);

  const std::string address_;
  Listener listener_;
  FileDescriptor stop_;  // readable once the workers are to end
  std::atomic<bool> ready_{false};
  std::vector<std::thread> workers_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_HTTP_SERVER_H_
