#include "engine/base/line_limiter.h"

#include <utility>

namespace attune {

std::optional<int64_t> LineLimiter::Admit(absl::string_view name, absl::Time now) {
  MutexLock lock(mu_);
  auto found = events_.find(name);
  if (found == events_.end()) found = events_.emplace(std::string(name), Event()).first;
  Event& event = found->second;
  // A clock that was set back begins a new second, too.
  if (now >= event.second_began + absl::Seconds(1) || now < event.second_began) {
    event.second_began = now;
    event.lines = 0;
  }
  if (event.lines == lines_per_second_) {
    ++event.suppressed;
    return std::nullopt;
  }
  ++event.lines;
  return std::exchange(event.suppressed, 0);
}

}  // namespace attune
