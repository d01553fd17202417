// What a test tells the library that puts faults into the program it is loaded into.
#ifndef ATTUNE_TESTS_FAULTS_FAULT_SWITCHES_H_
#define ATTUNE_TESTS_FAULTS_FAULT_SWITCHES_H_

#include <atomic>
#include <cstdint>

namespace attune::testing {

// The environment variable that names the file which both map as one FaultSwitches.
inline constexpr char kFaultSwitchesVariable[] = "FAULT_SWITCHES";

// A file of zero bytes is no fault at all. Shared between processes: every field is lock-free.
struct FaultSwitches {
  // Of C++ allocations of at least this many bytes that are not gRPC's own; 0: of none.
  std::atomic<int64_t> least_bytes;
  // The next so many of these succeed,
  std::atomic<int64_t> spared;
  // and of those after them so many throw std::bad_alloc.
  std::atomic<int64_t> failing;
  // How many have thrown.
  std::atomic<int64_t> failed;

  // By how much the wall clock has been set forward, or back.
  std::atomic<int64_t> wall_clock_ns;

  // So many more threads that are not gRPC's own can be started, if `threads_limited`.
  std::atomic<bool> threads_limited;
  std::atomic<int64_t> threads_left;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_FAULTS_FAULT_SWITCHES_H_
