// A few threads, each on a processor of its own, that do one thing together at a time.
#ifndef ATTUNE_TESTS_BENCH_THREAD_TEAM_H_
#define ATTUNE_TESTS_BENCH_THREAD_TEAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "engine/base/mutex.h"

namespace attune::bench {

// Member 0 is the thread that creates the team and calls it; the others sleep in between. Member i
// is pinned to the i-th processor that the process may run on. Thread-compatible.
class ThreadTeam {
 public:
  // kInvalidArgument unless 1 <= threads <= the processors that the process may run on.
  static absl::StatusOr<std::unique_ptr<ThreadTeam>> Create(int threads);
  ~ThreadTeam();

  int threads() const { return static_cast<int>(others_.size()) + 1; }

  // Calls work(0), ..., work(threads - 1), each on its member, and returns when all have.
  void Run(const std::function<void(int)>& work);

 private:
  explicit ThreadTeam(const std::vector<int>& cpus);
  void Serve(int member);

  std::vector<std::thread> others_;
  Mutex mu_;
  CondVar changed_;
  const std::function<void(int)>* work_ ABSL_GUARDED_BY(mu_) = nullptr;
  int64_t round_ ABSL_GUARDED_BY(mu_) = 0;  // of work; each member takes part once
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace attune::bench

#endif  // ATTUNE_TESTS_BENCH_THREAD_TEAM_H_
