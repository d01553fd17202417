// Whether a process grows.
#ifndef ATTUNE_TESTS_SOAK_MEMORY_TREND_H_
#define ATTUNE_TESTS_SOAK_MEMORY_TREND_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace attune::testing {

// Resident bytes, threads and open descriptors of process `pid`, from /proc.
struct ProcessSize {
  int64_t resident_bytes = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;
};
absl::StatusOr<ProcessSize> ReadProcessSize(int pid);

// The slope of the least-squares line through (i, values[i]), per step. 0 of fewer than two values.
double Slope(const std::vector<double>& values);

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SOAK_MEMORY_TREND_H_
