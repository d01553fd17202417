// The HTTP port: the unary methods of the API as JSON, probes, and the dashboard.
#ifndef ATTUNE_SERVER_HTTP_HTTP_SERVER_H_
#define ATTUNE_SERVER_HTTP_HTTP_SERVER_H_

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/call_gate.h"
#include "server/call_monitor.h"
#include "server/http/listener.h"
#include "server/security/port_guard.h"
#include "server/server_options.h"

namespace attune {

//   POST /v1/encode, /v1/attention-map, ...   one method each; the body is the request in the
//                                             protobuf JSON mapping, an error a google.rpc.Status
//   GET  /v1/model                            GetModel again
//   GET  /livez, /readyz                      200 or 503
//   GET  /                                    the dashboard: a page that uses the above
// Bodies are bounded by max_message_bytes, connections by http_threads, and the time of either
// direction by http_io_timeout. Every reply closes its connection. Other sites' pages get no answer
// they could read: there are no CORS headers. Thread-safe.
class HttpServer {
 public:
  // Opens options.http_address and serves; calls go through `gate` and are watched by `monitor`,
  // and they and connections go past `guard`, all of which are borrowed. Errors name the address.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const ServerOptions& options,
                                                           CallGate& gate, const PortGuard& guard,
                                                           CallMonitor& monitor);

  // What /readyz says; false at first.
  void SetReady(bool ready) { ready_.store(ready); }

  // Closes the port and every connection, and waits for the threads. Calls in progress are
  // cancelled.
  void Stop();

  ~HttpServer() { Stop(); }

  int port() const { return listener_.port; }

 private:
  HttpServer(Listener listener, FileDescriptor stop);

  Listener listener_;
  FileDescriptor stop_;  // readable once the workers are to end
  std::atomic<bool> ready_{false};
  std::vector<std::thread> workers_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_HTTP_SERVER_H_
