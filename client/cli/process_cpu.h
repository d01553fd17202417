// What a process has cost so far.
#ifndef ATTUNE_CLIENT_CLI_PROCESS_CPU_H_
#define ATTUNE_CLIENT_CLI_PROCESS_CPU_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune::cli {

// Processor seconds of this process, all threads, user and system.
double OwnCpuSeconds();

// The same of process `pid` of this machine, to the resolution of the kernel's clock tick, usually
// 10 ms. kNotFound if there is no such process.
absl::StatusOr<double> CpuSecondsOf(int pid);

// utime + stime, in clock ticks, of the content of /proc/PID/stat. kInternal if it is malformed.
absl::StatusOr<double> CpuTicksOfStat(absl::string_view stat);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_PROCESS_CPU_H_
