#ifndef ATTUNE_SERVER_SERVED_MODEL_H_
#define ATTUNE_SERVER_SERVED_MODEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "server/batcher.h"
#include "server/call_gate.h"
#include "server/cpu_budget.h"
#include "server/memory_budgets.h"
#include "server/metrics/work_metrics.h"
#include "server/model_loader.h"
#include "server/request_pipeline.h"
#include "server/server_options.h"
#include "server/worker_pool.h"

namespace attune {

// A model that was loaded, checked and warmed up, with all that answers from it: queue, pipeline
// and workers. A server that loads its model again has two for a while, which share nothing.
class ServedModel {
 public:
  // Loads options.model and runs real forward passes of the least and the largest size, then starts
  // the workers. Errors name the file, or the flag that does not suit the model. `budgets` are
  // borrowed. `metrics` is told of the work and outlives the model; null if nobody counts.
  // REQUIRES: Validate(options) is OK.
  static absl::StatusOr<std::unique_ptr<ServedModel>> Load(const ServerOptions& options,
                                                           const CpuBudget& cpus,
                                                           MemoryBudgets& budgets,
                                                           WorkMetrics* metrics);

  // What calls are to hold from their admission to their end. Once only.
  std::shared_ptr<const Backend> GiveBackend();

  // Waits until nobody holds what GiveBackend gave. Then the model may be destroyed, by a thread
  // that is not one of its own: never by the last call.
  void WaitUntilUnused();

  // The options, with everything that was to be chosen by the model chosen.
  const ServerOptions& options() const { return options_; }
  const ModelInfo& info() const { return pipeline_->model_info(); }
  int threads() const { return workers_->threads(); }
  // Forward passes and other jobs run so far.
  int64_t batches_run() const { return workers_->batches_run(); }
  absl::Duration load_time() const { return load_time_; }
  QueueCounts queue_counts() const { return batcher_->counts(); }
  WorkLoad load() const;

 private:
  class Users;

  explicit ServedModel(const ServerOptions& options);

  absl::Status ResolveLimits();
  absl::Status WarmUp() const;
  absl::Status StartWorkers(const CpuBudget& cpus, WorkMetrics* metrics);

  ServerOptions options_;
  absl::Duration load_time_;
  const std::shared_ptr<Users> users_;

  // Destroyed from the last to the first: what is below uses what is above.
  std::shared_ptr<const Engine> engine_;
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<RequestPipeline> pipeline_;
  std::unique_ptr<WorkerPool> workers_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_SERVED_MODEL_H_
