#include "server/cpu_budget.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/cgroup.h"

namespace attune {
namespace {

void KeepSmaller(std::optional<double>& smallest, std::optional<double> candidate) {
  if (candidate.has_value() && (!smallest.has_value() || *candidate < *smallest)) {
    smallest = candidate;
  }
}

std::optional<double> ReadV1Quota(const std::string& directory) {
  double quota = 0;
  double period = 0;
  if (!absl::SimpleAtod(absl::StripAsciiWhitespace(ReadSystemFile(directory + "/cpu.cfs_quota_us")),
                        &quota) ||
      !absl::SimpleAtod(
          absl::StripAsciiWhitespace(ReadSystemFile(directory + "/cpu.cfs_period_us")), &period) ||
      quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

}  // namespace

int CpuBudget::threads() const {
  double cpus = static_cast<double>(affinity.size());
  if (cgroup_quota.has_value()) cpus = std::min(cpus, *cgroup_quota);
  return std::max(1, static_cast<int>(std::floor(cpus)));
}

std::optional<double> ParseCpuMax(absl::string_view cpu_max) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::StripAsciiWhitespace(cpu_max), ' ');
  double quota = 0;
  double period = 0;
  if (fields.size() != 2 || !absl::SimpleAtod(fields[0], &quota) ||
      !absl::SimpleAtod(fields[1], &period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

std::optional<double> ReadCgroupQuota(const std::string& root) {
  std::optional<double> quota;
  for (const std::string& folder : CgroupFolders(root, "")) {
    KeepSmaller(quota, ParseCpuMax(ReadSystemFile(folder + "/cpu.max")));
  }
  if (quota.has_value()) return quota;
  for (const std::string& folder : CgroupFolders(root, "cpu")) {
    KeepSmaller(quota, ReadV1Quota(folder));
  }
  return quota;
}

CpuBudget ReadCpuBudget() {
  CpuBudget budget;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) budget.affinity.push_back(static_cast<int>(cpu));
    }
  }
  budget.cgroup_quota = ReadCgroupQuota("");
  return budget;
}

}  // namespace attune
