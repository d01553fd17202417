#ifndef ATTUNE_ENGINE_BASE_LINE_LIMITER_H_
#define ATTUNE_ENGINE_BASE_LINE_LIMITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/base/mutex.h"

namespace attune {

// Lets so many log lines of each event through per second, and counts the rest, so that a flood of
// requests cannot become a flood of lines. Remembers every event it has seen: events are names in
// the program, never from outside. Thread-safe.
class LineLimiter {
 public:
  explicit LineLimiter(int lines_per_second) : lines_per_second_(lines_per_second) {}

  // Whether a line of `event` may be written at `now`. If so: how many were held back since the
  // last one that was written.
  std::optional<int64_t> Admit(absl::string_view event, absl::Time now);

 private:
  struct Event {
    absl::Time second_began = absl::InfinitePast();
    int lines = 0;  // in this second
    int64_t suppressed = 0;
  };

  const int lines_per_second_;
  Mutex mu_;
  std::map<std::string, Event, std::less<>> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_LINE_LIMITER_H_
