#ifndef ATTUNE_TESTS_SUPPORT_FAKE_CLOCK_H_
#define ATTUNE_TESTS_SUPPORT_FAKE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace attune::testing {

// A clock that stands still until it is advanced. Thread-safe.
class FakeClock final : public Clock {
 public:
  absl::Time Now() const override {
    MutexLock lock(mu_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mu_);
    now_ += by;
  }

 private:
  mutable Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::FromUnixSeconds(1'000'000);
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_FAKE_CLOCK_H_
