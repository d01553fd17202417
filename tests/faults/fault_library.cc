// A library to be loaded before all others (LD_PRELOAD): C++ allocations that fail, a wall clock
// that jumps, threads that cannot be started, when FaultSwitches say so.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

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

// gRPC is not made to go on without memory or a thread: what it asks for itself it gets.
bool IsGrpc(const void* code) {
  Dl_info object;
  if (dladdr(code, &object) == 0) return false;
  return std::strstr(object.dli_fname, "/libgrpc") != nullptr ||
         std::strstr(object.dli_fname, "/libgpr") != nullptr;
}

bool AllocationFails(std::size_t bytes, const void* caller) {
  FaultSwitches* switches = Switches();
  if (switches == nullptr) return false;
  const int64_t least = switches->least_bytes.load();
  if (least == 0 || static_cast<int64_t>(bytes) < least || IsGrpc(caller)) return false;
  if (TakesOne(switches->spared) || !TakesOne(switches->failing)) return false;
  switches->failed.fetch_add(1);
  return true;
}

// Null if it fails. `caller` is where operator new was called.
void* Allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (AllocationFails(bytes, caller)) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void* AllocateOrThrow(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* memory = Allocate(bytes, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int64_t WallClockShift() {
  FaultSwitches* switches = Switches();
  return switches == nullptr ? 0 : switches->wall_clock_ns.load();
}

timespec Later(const timespec& time, int64_t nanoseconds) {
  const int64_t total = time.tv_nsec + nanoseconds;
  timespec later{.tv_sec = time.tv_sec + total / kNanosecondsPerSecond,
                 .tv_nsec = total % kNanosecondsPerSecond};
  if (later.tv_nsec < 0) {
    later.tv_nsec += kNanosecondsPerSecond;
    --later.tv_sec;
  }
  return later;
}

}  // namespace

// Arrays and operators that do not throw end in these two.
void* operator new(std::size_t bytes) {
  return AllocateOrThrow(bytes, 1, __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return AllocateOrThrow(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto next = Next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, time);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  *time = Later(*time, WallClockShift());
  return result;
}

// Abseil's waits, and gRPC's with them, give the kernel a time of the wall clock, which is not set
// there: unless that is made up for, they would last the day by which it seems to be.
extern "C" long syscall(long number, ...) noexcept {
  static const auto next = Next<long (*)(long, ...)>("syscall");
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  timespec deadline;
  const auto* given = reinterpret_cast<const timespec*>(arguments[3]);
  if (number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0 && given != nullptr) {
    deadline = Later(*given, -WallClockShift());
    arguments[3] = reinterpret_cast<long>(&deadline);
  }
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  static const auto next =
      Next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  FaultSwitches* switches = Switches();
  if (switches != nullptr && switches->threads_limited.load() &&
      !IsGrpc(__builtin_return_address(0)) && !TakesOne(switches->threads_left)) {
    return EAGAIN;
  }
  return next(thread, attributes, run, argument);
}
