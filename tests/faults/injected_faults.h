// Faults of the machine, put into a program that a test runs.
#ifndef ATTUNE_TESTS_FAULTS_INJECTED_FAULTS_H_
#define ATTUNE_TESTS_FAULTS_INJECTED_FAULTS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/faults/fault_switches.h"
#include "tests/support/temp_dir.h"

namespace attune::testing {

// The switches of one program, which may be moved while it runs. Outlives the program's start.
class InjectedFaults {
 public:
  InjectedFaults();
  InjectedFaults(const InjectedFaults&) = delete;
  InjectedFaults& operator=(const InjectedFaults&) = delete;
  ~InjectedFaults();

  // For the environment of the program.
  std::vector<std::string> environment() const;

  // Of the C++ allocations of at least `least_bytes`, one fails, after `spared` that do not.
  void FailOneAllocation(int64_t least_bytes, int64_t spared) const;
  // All of them fail.
  void FailAllocations(int64_t least_bytes) const;
  void FailNoAllocation() const;
  // How many have failed.
  int64_t failed_allocations() const { return switches_->failed; }

  // Sets the wall clock by `duration`, which may be negative, off what it really is.
  void SetWallClock(absl::Duration duration) const;

  // From now on the program can start so many more threads.
  void AllowThreads(int more) const;

 private:
  void Fail(int64_t least_bytes, int64_t spared, int64_t failing) const;

  const TempDir dir_;
  FaultSwitches* switches_ = nullptr;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_FAULTS_INJECTED_FAULTS_H_
