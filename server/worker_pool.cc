#include "server/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <new>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/idle_workers.h"

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
  for (int i = 0; i < options.threads; ++i) {
    const int cpu = options.cpus.empty() ? -1 : options.cpus[static_cast<size_t>(i)];
    try {
      pool->threads_.emplace_back([pool = pool.get(), engine, cpu, options] {
        if (cpu >= 0) PinThisThread(cpu);
        pool->Work(engine, options);
      });
    } catch (const std::system_error& error) {
      if (i == 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("cannot start a worker thread: ", error.what()));
      }
      Log(LogLevel::kWarning, "fewer_workers", "not all worker threads could be started",
          {{"wanted", options.threads}, {"started", i}, {"error", error.what()}});
      break;
    }
  }
  return pool;
}

void WorkerPool::Work(const std::shared_ptr<const Engine>& engine,
                      const WorkerPoolOptions& options) {
  IdleWorkers idle_workers(batcher_);
  Session session(engine, options.reserve_tokens,
                  options.split_lone_requests ? &idle_workers : nullptr);
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
