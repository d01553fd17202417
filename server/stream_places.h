#ifndef ATTUNE_SERVER_STREAM_PLACES_H_
#define ATTUNE_SERVER_STREAM_PLACES_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/mutex.h"
#include "server/error_details.h"
#include "server/retry_delay.h"

namespace attune {

// How many attention streams may be open at a time. Thread-safe; outlives its places.
class StreamPlaces {
 public:
  explicit StreamPlaces(int64_t most) : most_(most) {}

  struct GiveBack {
    void operator()(StreamPlaces* places) const { places->Leave(); }
  };
  // A place that is taken until the object goes away.
  using Place = std::unique_ptr<StreamPlaces, GiveBack>;

  // kResourceExhausted while all places are taken: it helps to try again later.
  absl::StatusOr<Place> Take() {
    MutexLock lock(mu_);
    if (taken_ == most_) {
      return LimitReached(ErrorReason::kStreamsFull, {"max-attention-streams", most_, taken_, 1},
                          absl::StrCat(taken_,
                                       " attention streams are open, which is the limit for "
                                       "all clients; try again later"),
                          RetryDelay(kUnmeasuredWait));
    }
    ++taken_;
    return Place(this);
  }

 private:
  void Leave() {
    MutexLock lock(mu_);
    --taken_;
  }

  const int64_t most_;
  Mutex mu_;
  int64_t taken_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_STREAM_PLACES_H_
