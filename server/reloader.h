#ifndef ATTUNE_SERVER_RELOADER_H_
#define ATTUNE_SERVER_RELOADER_H_

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "engine/base/mutex.h"

namespace attune {

// A thread that reloads whenever it is asked to. Requests that come during a reload are answered by
// one more after it, since what they are about may have changed after it began. Thread-safe.
class Reloader {
 public:
  explicit Reloader(std::function<void()> reload);
  // Waits for the reload that is under way; one that was asked for and has not begun is dropped.
  ~Reloader();

  // Returns at once.
  void Request();

 private:
  void Work();

  const std::function<void()> reload_;

  Mutex mu_;
  CondVar changed_;
  bool requested_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_RELOADER_H_
