#include "server/task_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/error_details.h"
#include "server/retry_delay.h"
#include "server/start_threads.h"

namespace attune {

absl::Status TaskQueue::Start(int threads) {
  return StartThreads(
      "tokenizer", threads, [this](int /*thread*/) { Work(); }, threads_);
}

TaskQueue::~TaskQueue() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status TaskQueue::Add(int64_t bytes, std::function<void()> task) {
  {
    MutexLock lock(mu_);
    if (pending_bytes_ > 0 && pending_bytes_ + bytes > max_pending_bytes_) {
      return LimitReached(ErrorReason::kPendingBytesFull,
                          {"max-pending-bytes", max_pending_bytes_, pending_bytes_, bytes},
                          absl::StrCat("too much text waits to be tokenised: ", pending_bytes_,
                                       " bytes, this request has ", bytes, ", the limit is ",
                                       max_pending_bytes_, "; try again later"),
                          RetryDelay(kUnmeasuredWait));
    }
    pending_bytes_ += bytes;
    tasks_.push_back({bytes, std::move(task)});
  }
  changed_.NotifyOne();
  return absl::OkStatus();
}

void TaskQueue::Work() {
  for (;;) {
    Task task;
    {
      MutexLock lock(mu_);
      while (tasks_.empty() && !stopping_) changed_.Wait(mu_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task.run();
    MutexLock lock(mu_);
    pending_bytes_ -= task.bytes;
  }
}

}  // namespace attune
