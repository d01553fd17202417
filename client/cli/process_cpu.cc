#include "client/cli/process_cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace attune::cli {

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

absl::StatusOr<double> CpuSecondsOf(int pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  std::ifstream file(path);
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (stat.empty()) return absl::NotFoundError(absl::StrCat("there is no process ", pid));
  const absl::StatusOr<double> ticks = CpuTicksOfStat(stat);
  if (!ticks.ok()) return ticks.status();
  return *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

absl::StatusOr<double> CpuTicksOfStat(absl::string_view stat) {
  // proc(5): "pid (comm) state ...": the name may hold spaces and parentheses, so count from its
  // end, where `state` is field 3; utime and stime are fields 14 and 15.
  const size_t name_end = stat.rfind(')');
  if (name_end != absl::string_view::npos) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
    uint64_t user = 0;
    uint64_t system = 0;
    if (fields.size() > 12 && absl::SimpleAtoi(fields[11], &user) &&
        absl::SimpleAtoi(fields[12], &system)) {
      return static_cast<double>(user + system);
    }
  }
  return absl::InternalError("/proc/PID/stat is not as proc(5) describes it");
}

}  // namespace attune::cli
