#ifndef ATTUNE_SERVER_ACTIVITY_H_
#define ATTUNE_SERVER_ACTIVITY_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/time/time.h"

namespace attune {

struct TimeRange {
  absl::Time start;
  absl::Time end;
};

// One kind of work on a call, which may be at several places at once: how long it took in all, and
// from when to when. Thread-safe; what is told of work that goes on meanwhile may be a moment old.
class Activity {
 public:
  // Nothing begins before `epoch`.
  explicit Activity(absl::Time epoch) : epoch_(epoch) {}

  // `count` parts of it begin.
  void Begin(absl::Time now, int64_t count = 1);
  // One of them ends.
  void End(absl::Time now);

  // The sum of all parts; those that go on count up to `now`.
  absl::Duration Total(absl::Time now) const;
  // From the first beginning to the last end, or to `now` while any goes on. Nothing if none began.
  std::optional<TimeRange> Extent(absl::Time now) const;

 private:
  int64_t SinceEpoch(absl::Time time) const { return absl::ToInt64Nanoseconds(time - epoch_); }

  const absl::Time epoch_;
  std::atomic<int64_t> first_begin_ns_{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> last_end_ns_{0};
  std::atomic<int64_t> open_{0};
  // Each Begin subtracts its time, each End adds its own: with `open_` parts going on, their sum so
  // far is this plus so many times now.
  std::atomic<int64_t> total_ns_{0};
};

}  // namespace attune

#endif  // ATTUNE_SERVER_ACTIVITY_H_
