#ifndef ATTUNE_SERVER_TASK_QUEUE_H_
#define ATTUNE_SERVER_TASK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "engine/base/mutex.h"

namespace attune {

// A few threads for work that is too long for the thread a request arrives on and is not a batch:
// tokenising large requests. Bounded in bytes. Thread-safe.
class TaskQueue {
 public:
  explicit TaskQueue(int64_t max_pending_bytes) : max_pending_bytes_(max_pending_bytes) {}

  // Runs tasks from here on, on `threads` threads, or fewer where the system has no more;
  // kResourceExhausted if it has none. Once.
  absl::Status Start(int threads);

  // Runs what is queued, then stops.
  ~TaskQueue();

  // Queues `task`, which stands for `bytes` bytes of text until it has run. kResourceExhausted when
  // that would pass the limit; a queue with nothing pending takes any task. Never blocks.
  absl::Status Add(int64_t bytes, std::function<void()> task);

  // Of the tasks that have not run yet, those being run included.
  int64_t pending_bytes() const {
    MutexLock lock(mu_);
    return pending_bytes_;
  }

 private:
  struct Task {
    int64_t bytes;
    std::function<void()> run;
  };

  void Work();

  const int64_t max_pending_bytes_;
  mutable Mutex mu_;
  CondVar changed_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mu_);
  int64_t pending_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_TASK_QUEUE_H_
