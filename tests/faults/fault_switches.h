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
  // By how much the wall clock has been set forward, or back.
  std::atomic<int64_t> wall_clock_ns;

  // So many more threads can be started, if `threads_limited`.
  std::atomic<bool> threads_limited;
  std::atomic<int64_t> threads_left;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_FAULTS_FAULT_SWITCHES_H_
