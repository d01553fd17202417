#ifndef ATTUNE_SERVER_CPU_BUDGET_H_
#define ATTUNE_SERVER_CPU_BUDGET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace attune {

// How much CPU this process may use. hardware_concurrency knows neither of the two limits that
// containers set.
struct CpuBudget {
  std::vector<int> affinity;           // CPUs the process may run on
  std::optional<double> cgroup_quota;  // CPUs per second that the control group grants; absent: all

  // max(1, floor(min(affinity, quota))).
  int threads() const;
};

// Reads the affinity mask and the control group (v2 cpu.max, the minimum over all ancestors; else
// v1 cfs_quota / cfs_period). What cannot be read counts as no limit.
CpuBudget ReadCpuBudget();

// The same with the files' root given, for tests: <root>/proc/self/cgroup and <root>/sys/fs/cgroup.
std::optional<double> ReadCgroupQuota(const std::string& root);

// CPUs of a cgroup v2 cpu.max line ("200000 100000" is 2); absent for "max 100000" or nonsense.
std::optional<double> ParseCpuMax(absl::string_view cpu_max);

}  // namespace attune

#endif  // ATTUNE_SERVER_CPU_BUDGET_H_
