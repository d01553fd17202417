// The operator's port: metrics, probes, and what is in flight.
#ifndef ATTUNE_SERVER_HTTP_OPS_SERVER_H_
#define ATTUNE_SERVER_HTTP_OPS_SERVER_H_

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/call_monitor.h"
#include "server/http/listener.h"
#include "server/server_options.h"

namespace attune {

//   GET  /metrics          for Prometheus
//   GET  /livez, /readyz   200 or 503: the health names "liveness" and ""
//   GET  /debug/calls      the calls in flight, as JSON
// It has threads of its own and asks nothing of those that serve, so it answers however busy they
// are. Connections and times are bounded as on the HTTP port. Thread-safe.
class OpsServer {
 public:
  // Opens options.ops_address and serves. `monitor` is borrowed. Errors name the address.
  static absl::StatusOr<std::unique_ptr<OpsServer>> Start(const ServerOptions& options,
                                                          CallMonitor& monitor);

  // What /readyz says; false at first.
  void SetReady(bool ready) { ready_.store(ready); }

  // Closes the port and every connection, and waits for the threads.
  void Stop();

  ~OpsServer() { Stop(); }

  int port() const { return listener_.port; }

 private:
  OpsServer(Listener listener, FileDescriptor stop);

  Listener listener_;
  FileDescriptor stop_;  // readable once the workers are to end
  std::atomic<bool> ready_{false};
  std::vector<std::thread> workers_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_OPS_SERVER_H_
