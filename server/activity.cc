#include "server/activity.h"

#include <algorithm>

namespace attune {
namespace {

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

}  // namespace

void Activity::Begin(absl::Time now, int64_t count) {
  const int64_t now_ns = SinceEpoch(now);
  open_.fetch_add(count, kRelaxed);
  total_ns_.fetch_sub(count * now_ns, kRelaxed);
  int64_t first = first_begin_ns_.load(kRelaxed);
  while (now_ns < first && !first_begin_ns_.compare_exchange_weak(first, now_ns, kRelaxed)) {
  }
}

void Activity::End(absl::Time now) {
  const int64_t now_ns = SinceEpoch(now);
  int64_t last = last_end_ns_.load(kRelaxed);
  while (now_ns > last && !last_end_ns_.compare_exchange_weak(last, now_ns, kRelaxed)) {
  }
  total_ns_.fetch_add(now_ns, kRelaxed);
  open_.fetch_sub(1, kRelaxed);
}

absl::Duration Activity::Total(absl::Time now) const {
  const int64_t total_ns = total_ns_.load(kRelaxed) + open_.load(kRelaxed) * SinceEpoch(now);
  // The two were not read at the same moment.
  return absl::Nanoseconds(std::max<int64_t>(total_ns, 0));
}

std::optional<TimeRange> Activity::Extent(absl::Time now) const {
  const int64_t first_ns = first_begin_ns_.load(kRelaxed);
  if (first_ns == std::numeric_limits<int64_t>::max()) return std::nullopt;
  const absl::Time start = epoch_ + absl::Nanoseconds(first_ns);
  if (open_.load(kRelaxed) > 0) return TimeRange{start, now};
  return TimeRange{start, epoch_ + absl::Nanoseconds(last_end_ns_.load(kRelaxed))};
}

}  // namespace attune
