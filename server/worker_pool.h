#ifndef ATTUNE_SERVER_WORKER_POOL_H_
#define ATTUNE_SERVER_WORKER_POOL_H_

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "server/batcher.h"
#include "server/metrics/work_metrics.h"

namespace attune {

struct WorkerPoolOptions {
  int threads = 1;
  // Worker i runs on cpus[i]; empty leaves the placement to the system.
  std::vector<int> cpus;
  // Whether workers with nothing to do help with the pass of one that has.
  bool split_lone_requests = true;
  // Scratch memory taken per worker at start, in tokens.
  int64_t reserve_tokens = 256;
  // Counts the batches; borrowed, and may be null.
  WorkMetrics* metrics = nullptr;
};

// The threads that compute: each owns a Session and runs what the batcher hands it until the
// batcher is closed and empty. Nothing else in the server computes.
class WorkerPool {
 public:
  // Starts the threads and makes their sessions. `batcher` is borrowed and outlives the pool.
  // kResourceExhausted if not even one thread can be started, or if there is no memory for the
  // sessions; fewer threads than asked for are a warning in the log.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Start(const WorkerPoolOptions& options,
                                                           std::shared_ptr<const Engine> engine,
                                                           Batcher& batcher);

  // Closes the batcher, and returns when its last item has been answered.
  ~WorkerPool();

  int threads() const { return static_cast<int>(threads_.size()); }
  // Batches run so far; help with another worker's is none. Thread-safe.
  int64_t batches_run() const { return batches_run_.load(std::memory_order_relaxed); }

 private:
  explicit WorkerPool(Batcher& batcher) : batcher_(batcher) {}
  // `ready` is told when the worker has its session, or why it ends without one.
  void Work(const std::shared_ptr<const Engine>& engine, const WorkerPoolOptions& options,
            std::promise<absl::Status>& ready);
  void RunBatch(Session& session, std::vector<WorkItem> items, WorkMetrics* metrics);

  Batcher& batcher_;
  std::atomic<int64_t> batches_run_{0};
  std::vector<std::thread> threads_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_WORKER_POOL_H_
