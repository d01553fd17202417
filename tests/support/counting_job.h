// Work for a queue in tests, which keeps count of what became of it.
#ifndef ATTUNE_TESTS_SUPPORT_COUNTING_JOB_H_
#define ATTUNE_TESTS_SUPPORT_COUNTING_JOB_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/job.h"

namespace attune::testing {

// Remembers which of its items failed, and why. Thread-compatible.
class CountingJob final : public Job {
 public:
  explicit CountingJob(std::shared_ptr<Call> call, bool alone = false)
      : Job(std::move(call)), alone_(alone) {}
  explicit CountingJob(absl::Time deadline, bool alone = false)
      : CountingJob(std::make_shared<Call>(deadline), alone) {}

  bool runs_alone() const override { return alone_; }
  void Fail(int64_t index, absl::Status status) override {
    ++times_failed_[index];
    failed_[index] = std::move(status);
  }

  const std::map<int64_t, absl::Status>& failed() const { return failed_; }
  const std::map<int64_t, int>& times_failed() const { return times_failed_; }

 private:
  const bool alone_;
  std::map<int64_t, absl::Status> failed_;
  std::map<int64_t, int> times_failed_;
};

// One item of `job` for each of `tokens`, which it weighs.
inline std::vector<WorkItem> ItemsOf(const std::shared_ptr<Job>& job,
                                     const std::vector<int64_t>& tokens) {
  std::vector<WorkItem> items;
  for (const int64_t count : tokens) {
    items.push_back({job, static_cast<int64_t>(items.size()), count});
  }
  return items;
}

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_COUNTING_JOB_H_
