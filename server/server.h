#ifndef ATTUNE_SERVER_SERVER_H_
#define ATTUNE_SERVER_SERVER_H_

#include <grpcpp/server.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/mutex.h"
#include "server/call_gate.h"
#include "server/call_monitor.h"
#include "server/cpu_budget.h"
#include "server/grpc/encoder_service.h"
#include "server/grpc/health_service.h"
#include "server/grpc/port_credentials.h"
#include "server/grpc/unknown_methods.h"
#include "server/http/http_server.h"
#include "server/memory_budgets.h"
#include "server/memory_fit.h"
#include "server/security/port_guard.h"
#include "server/served_model.h"
#include "server/server_options.h"
#include "server/tracing/trace_exporter.h"

namespace attune {

// The whole server: its ports, the services on them, a model behind them. Bind, Load, then Drain,
// in this order and from one thread; the others as they say.
class Server {
 public:
  // Validates the options and opens the ports: health answers from here on, everything else is
  // UNAVAILABLE. Errors name the flag, or the address that is taken.
  static absl::StatusOr<std::unique_ptr<Server>> Bind(const ServerOptions& options);

  // Loads the model, warms it up with a real forward pass, and begins to serve. On an error nothing
  // is served.
  absl::Status Load();

  // Loads the model folder again, warms the model up beside the one that serves, gives it every
  // call that arrives from then on, and frees the other once the calls that it has are over;
  // returns then. On an error, which is logged, everything stays as it was. Twice the memory for a
  // while. Streams that are open stay with the model that they began with. REQUIRES: Load was OK.
  // One at a time, on any thread; may run beside all other methods.
  absl::Status Reload();

  // Stops in the order that loses no request: say NOT_SERVING, go on for drain_delay while traffic
  // moves away, refuse what is new, finish what is running for up to drain_timeout, close. Returns
  // whether everything was finished.
  bool Drain();

  // Makes a Drain, running or to come, wait for nothing. From any thread.
  void Hurry();

  // Drains in a hurry if Drain was not called.
  ~Server();

  int port() const { return port_; }
  // 0 when the HTTP port is off.
  int http_port() const { return http_server_ == nullptr ? 0 : http_server_->port(); }
  // 0 when the operator's port is off.
  int ops_port() const { return ops_server_ == nullptr ? 0 : ops_server_->port(); }
  // Forward passes and other jobs that the model in use has run so far.
  int64_t batches_run() const;
  // What waits for the model in use, and what was refused or dropped there so far. After Load.
  QueueCounts queue_counts() const;
  // Counts refused callers and certificates that could not be reloaded.
  const PortGuard& guard() const { return guard_; }

 private:
  Server(const MemoryFit& fit, const CpuBudget& cpus, PortGuard guard,
         std::unique_ptr<TraceExporter> trace_exporter);

  absl::Status OpenGrpcPort();
  absl::Status OpenHttpPort();
  absl::Status OpenOpsPort();
  absl::StatusOr<std::unique_ptr<ServedModel>> LoadModel();
  void SetServing(bool serving);
  bool has_model() const;
  // What /metrics tells besides what is counted as it happens.
  GuardCounts CountAtTheGuard() const;
  WorkLoad CurrentLoad() const;
  // Tells the log and the metrics which model is served from now on.
  void Announce(absl::string_view event, absl::string_view message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Replaces the model by what the folder holds now.
  absl::Status ReloadModel();
  // Waits for `duration`; false, and sooner, if in a hurry.
  bool WaitUnlessHurried(absl::Duration duration);
  bool WaitIdleUnlessHurried();
  void RefuseUntilQuiet();

  ServerOptions options_;
  const PortGuard guard_;
  const CpuBudget cpus_;
  const std::optional<int64_t> memory_limit_bytes_;
  MemoryPlan memory_plan_;  // without a reload; of Bind, and then of Reload
  int port_ = 0;
  bool drained_ = false;

  mutable Mutex mu_;
  CondVar hurry_changed_;
  bool hurry_ ABSL_GUARDED_BY(mu_) = false;

  // Destroyed from the last to the first: what is below uses what is above.
  MemoryBudgets budgets_;
  const std::unique_ptr<TraceExporter> trace_exporter_;  // null: none
  CallMonitor monitor_;
  std::unique_ptr<ServedModel> model_ ABSL_GUARDED_BY(mu_);
  CallGate gate_;
  EncoderService encoder_service_;
  UnknownMethods unknown_methods_;
  HealthService health_service_;
  const std::shared_ptr<PortCredentials> credentials_;
  std::unique_ptr<grpc::Server> grpc_server_;
  std::unique_ptr<HttpServer> http_server_;
  std::unique_ptr<HttpServer> ops_server_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SERVER_H_
