#include "server/cpu_budget.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace attune {
namespace {

// Files of /proc and /sys have no size, so they are read as streams.
std::string ReadSystemFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void KeepSmaller(std::optional<double>& smallest, std::optional<double> candidate) {
  if (candidate.has_value() && (!smallest.has_value() || *candidate < *smallest)) {
    smallest = candidate;
  }
}

// The control group of this process within one hierarchy, e.g. "/system.slice/attune.service".
// `controller` is "" for v2, whose line is "0::/path", and "cpu" for v1: "4:cpu,cpuacct:/path".
std::optional<std::string> CgroupPath(absl::string_view proc_self_cgroup,
                                      absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(proc_self_cgroup, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      return std::string(fields[2]);
    }
  }
  return std::nullopt;
}

// Calls visit(path) for `path` and each of its ancestors up to and including "".
template <typename Visit>
void ForEachAncestor(std::string path, Visit visit) {
  if (path == "/") path.clear();
  for (;;) {
    visit(path);
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
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
  const std::string cgroups = ReadSystemFile(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  std::optional<double> quota;
  if (const auto v2 = CgroupPath(cgroups, ""); v2.has_value()) {
    ForEachAncestor(*v2, [&](const std::string& path) {
      KeepSmaller(quota, ParseCpuMax(ReadSystemFile(absl::StrCat(mount, path, "/cpu.max"))));
    });
  }
  if (const auto v1 = CgroupPath(cgroups, "cpu"); !quota.has_value() && v1.has_value()) {
    ForEachAncestor(*v1, [&](const std::string& path) {
      KeepSmaller(quota, ReadV1Quota(absl::StrCat(mount, "/cpu", path)));
    });
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
