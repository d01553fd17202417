#include "server/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/status_macros.h"
#include "server/idle_workers.h"
#include "server/out_of_memory.h"
#include "server/start_threads.h"

namespace attune {
namespace {

void PinThisThread(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(static_cast<size_t>(cpu), &mask);
  if (pthread_setaffinity_np(pthread_self(), sizeof(mask), &mask) != 0) {
    Log(LogLevel::kWarning, "worker_not_pinned", "a worker could not be pinned to its CPU",
        {{"cpu", cpu}});
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::Start(const WorkerPoolOptions& options,
                                                              std::shared_ptr<const Engine> engine,
                                                              Batcher& batcher) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool(batcher));
  // Shared with the threads, the last of which may still be in set_value when it has been heard.
  const auto ready = std::make_shared<std::vector<std::promise<absl::Status>>>(
      static_cast<size_t>(options.threads));
  const auto work = [pool = pool.get(), engine = std::move(engine), options, ready](int i) {
    const auto worker = static_cast<size_t>(i);
    if (!options.cpus.empty()) PinThisThread(options.cpus[worker]);
    pool->Work(engine, options, (*ready)[worker]);
  };
  ATTUNE_RETURN_IF_ERROR(StartThreads("worker", options.threads, work, pool->threads_));
  for (size_t i = 0; i < pool->threads_.size(); ++i) {
    ATTUNE_RETURN_IF_ERROR((*ready)[i].get_future().get());
  }
  return pool;
}

void WorkerPool::Work(const std::shared_ptr<const Engine>& engine, const WorkerPoolOptions& options,
                      std::promise<absl::Status>& ready) {
  IdleWorkers idle_workers(batcher_);
  std::optional<Session> made;
  // On the thread that will use it: its memory is then near that thread's CPU.
  absl::Status status = OrOutOfMemory([&] {
    made.emplace(engine, options.reserve_tokens,
                 options.split_lone_requests ? &idle_workers : nullptr);
    return absl::OkStatus();
  });
  const bool failed = !status.ok();
  ready.set_value(std::move(status));
  if (failed) return;
  Session& session = *made;
  for (;;) {
    std::vector<WorkItem> items = batcher_.Take();
    if (items.empty()) return;
    // Help with another worker's batch has no tokens, and is none.
    if (items.front().tokens == 0) {
      RunItems(session, std::move(items));
    } else {
      RunBatch(session, std::move(items), options.metrics);
    }
  }
}

void WorkerPool::RunBatch(Session& session, std::vector<WorkItem> items, WorkMetrics* metrics) {
  const auto count = static_cast<int64_t>(items.size());
  const int64_t tokens = TotalTokens(items);
  const absl::Time start = SteadyNow();
  batches_run_.fetch_add(1, std::memory_order_relaxed);
  RunItems(session, std::move(items));
  batcher_.Finished(tokens);
  if (metrics != nullptr) metrics->Computed(count, tokens, SteadyNow() - start);
}

WorkerPool::~WorkerPool() {
  batcher_.Close();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace attune
