#include "server/grpc/open_streams.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/clock.h"

namespace attune {

OpenStreams::OpenStreams(absl::Duration stall_timeout)
    : stall_timeout_(stall_timeout), watch_([this] { WatchForStalls(); }) {}

OpenStreams::~OpenStreams() {
  {
    MutexLock lock(mu_);
    ATTUNE_CHECK(streams_.empty());
    stopping_ = true;
  }
  changed_.NotifyAll();
  watch_.join();
}

void OpenStreams::Add(OpenStream& stream) {
  {
    MutexLock lock(mu_);
    streams_.insert(&stream);
  }
  changed_.NotifyAll();
}

void OpenStreams::Remove(OpenStream& stream) {
  MutexLock lock(mu_);
  streams_.erase(&stream);
}

void OpenStreams::EndAll(const absl::Status& reason) {
  MutexLock lock(mu_);
  for (OpenStream* stream : streams_) stream->EndWith(reason);
}

void OpenStreams::WatchForStalls() {
  const absl::Duration interval = std::min(stall_timeout_ / 4, absl::Seconds(1));
  MutexLock lock(mu_);
  while (!stopping_) {
    if (streams_.empty()) {
      changed_.Wait(mu_);
    } else {
      changed_.WaitFor(mu_, interval);
    }
    const absl::Time since = SteadyNow() - stall_timeout_;
    for (OpenStream* stream : streams_) stream->CancelIfStalled(since);
  }
}

}  // namespace attune
