// A library to be loaded before all others (LD_PRELOAD): a wall clock that
// jumps, threads that cannot be started, when FaultSwitches say so.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tests/faults/fault_switches.h"

namespace {

using ::attune::testing::FaultSwitches;

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

FaultSwitches* Map() {
  const char* path = std::getenv(attune::testing::kFaultSwitchesVariable);
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* shared = mmap(nullptr, sizeof(FaultSwitches), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return shared == MAP_FAILED ? nullptr : static_cast<FaultSwitches*>(shared);
}

FaultSwitches* Switches() {
  static FaultSwitches* const switches = Map();
  return switches;
}

bool TakesOne(std::atomic<int64_t>& count) {
  int64_t left = count.load();
  while (left > 0 && !count.compare_exchange_weak(left, left - 1)) {
  }
  return left > 0;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int64_t WallClockShift() {
  FaultSwitches* switches = Switches();
  return switches == nullptr ? 0 : switches->wall_clock_ns.load();
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto next = Next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, time);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  const int64_t nanoseconds = time->tv_nsec + WallClockShift();
  time->tv_sec += nanoseconds / kNanosecondsPerSecond;
  time->tv_nsec = nanoseconds % kNanosecondsPerSecond;
  if (time->tv_nsec < 0) {
    time->tv_nsec += kNanosecondsPerSecond;
    --time->tv_sec;
  }
  return result;
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  static const auto next =
      Next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  FaultSwitches* switches = Switches();
  if (switches != nullptr && switches->threads_limited.load() &&
      !TakesOne(switches->threads_left)) {
    return EAGAIN;
  }
  return next(thread, attributes, run, argument);
}
