#ifndef ATTUNE_SERVER_SERVER_H_
#define ATTUNE_SERVER_SERVER_H_

#include <grpcpp/server.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/mutex.h"
#include "engine/engine.h"
#include "server/batcher.h"
#include "server/call_gate.h"
#include "server/call_monitor.h"
#include "server/cpu_budget.h"
#include "server/grpc/encoder_service.h"
#include "server/grpc/health_service.h"
#include "server/grpc/port_credentials.h"
#include "server/grpc/unknown_methods.h"
#include "server/http/http_server.h"
#include "server/http/ops_server.h"
#include "server/request_pipeline.h"
#include "server/security/port_guard.h"
#include "server/server_options.h"
#include "server/worker_pool.h"

namespace attune {

// The whole server: its ports, the services on them, a model behind them. Bind, Load, then Drain,
// in this order and from one thread; Hurry from any.
class Server {
 public:
  // Validates the options and opens the ports: health answers from here on, everything else is
  // UNAVAILABLE. Errors name the flag, or the address that is taken.
  static absl::StatusOr<std::unique_ptr<Server>> Bind(const ServerOptions& options);

  // Loads the model, warms it up with a real forward pass, and begins to serve. On an error nothing
  // is served.
  absl::Status Load();

  // Stops in the order that loses no request: say NOT_SERVING, go on for drain_delay while traffic
  // moves away, refuse what is new, finish what is running for up to drain_timeout, close. Returns
  // whether everything was finished.
  bool Drain();

  // Makes a Drain, running or to come, wait for nothing.
  void Hurry();

  // Drains in a hurry if Drain was not called.
  ~Server();

  int port() const { return port_; }
  // 0 when the HTTP port is off.
  int http_port() const { return http_server_ == nullptr ? 0 : http_server_->port(); }
  // 0 when the operator's port is off.
  int ops_port() const { return ops_server_ == nullptr ? 0 : ops_server_->port(); }
  // Forward passes and other jobs run so far.
  int64_t batches_run() const { return workers_ == nullptr ? 0 : workers_->batches_run(); }
  // What waits for the workers, and what was refused or dropped so far. After Load.
  QueueCounts queue_counts() const { return batcher_->counts(); }
  // Counts refused callers and certificates that could not be reloaded.
  const PortGuard& guard() const { return guard_; }

 private:
  Server(const ServerOptions& options, PortGuard guard);

  absl::Status OpenGrpcPort();
  absl::Status OpenHttpPort();
  absl::Status OpenOpsPort();
  void SetServing(bool serving);
  // What /metrics tells of the model and the queue from now on.
  GuardCounts CountAtTheGuard() const;
  void DescribeModel(const ModelInfo& model);
  absl::Status ResolveModelLimits();
  absl::Status WarmUp() const;
  // Waits for `duration`; false, and sooner, if in a hurry.
  bool WaitUnlessHurried(absl::Duration duration);
  bool WaitIdleUnlessHurried();
  void RefuseUntilQuiet();

  ServerOptions options_;
  const PortGuard guard_;
  CpuBudget cpus_;
  int port_ = 0;
  bool drained_ = false;

  Mutex mu_;
  CondVar hurry_changed_;
  bool hurry_ ABSL_GUARDED_BY(mu_) = false;

  // Destroyed from the last to the first: what is below uses what is above.
  CallMonitor monitor_;
  std::shared_ptr<const Engine> engine_;
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<RequestPipeline> pipeline_;
  std::unique_ptr<WorkerPool> workers_;
  CallGate gate_;
  EncoderService encoder_service_;
  UnknownMethods unknown_methods_;
  HealthService health_service_;
  const std::shared_ptr<PortCredentials> credentials_;
  std::unique_ptr<grpc::Server> grpc_server_;
  std::unique_ptr<HttpServer> http_server_;
  std::unique_ptr<OpsServer> ops_server_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SERVER_H_
