#include "tests/faults/injected_faults.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/base/check.h"

namespace attune::testing {
namespace {

constexpr char kFile[] = "switches";

}  // namespace

InjectedFaults::InjectedFaults() {
  dir_.Write(kFile, std::string(sizeof(FaultSwitches), '\0'));
  const int fd = open(dir_.Path(kFile).c_str(), O_RDWR | O_CLOEXEC);
  ATTUNE_CHECK(fd >= 0);
  void* shared = mmap(nullptr, sizeof(FaultSwitches), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  ATTUNE_CHECK(shared != MAP_FAILED);
  switches_ = static_cast<FaultSwitches*>(shared);
}

InjectedFaults::~InjectedFaults() { munmap(switches_, sizeof(FaultSwitches)); }

std::vector<std::string> InjectedFaults::environment() const {
  return {"LD_PRELOAD=" ATTUNE_FAULT_LIBRARY,
          absl::StrCat(kFaultSwitchesVariable, "=", dir_.Path(kFile))};
}

void InjectedFaults::Fail(int64_t least_bytes, int64_t spared, int64_t failing) const {
  FailNoAllocation();  // while the switches are set
  switches_->spared = spared;
  switches_->failing = failing;
  switches_->least_bytes = least_bytes;
}

void InjectedFaults::FailOneAllocation(int64_t least_bytes, int64_t spared) const {
  Fail(least_bytes, spared, 1);
}

void InjectedFaults::FailAllocations(int64_t least_bytes) const {
  Fail(least_bytes, 0, std::numeric_limits<int64_t>::max());
}

void InjectedFaults::FailNoAllocation() const { switches_->least_bytes = 0; }

void InjectedFaults::SetWallClock(absl::Duration duration) const {
  switches_->wall_clock_ns = absl::ToInt64Nanoseconds(duration);
}

void InjectedFaults::AllowThreads(int more) const {
  switches_->threads_left = more;
  switches_->threads_limited = true;
}

}  // namespace attune::testing
