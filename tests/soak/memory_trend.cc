#include "tests/soak/memory_trend.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace attune::testing {

absl::StatusOr<ProcessSize> ReadProcessSize(int pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  std::ifstream stat(folder + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  const size_t name_end = text.rfind(')');  // the name may have spaces
  if (name_end == std::string::npos) {
    return absl::NotFoundError(absl::StrCat("no process ", pid));
  }
  // From field 3 on: num_threads is field 20, rss, in pages, field 24 (proc(5)).
  const std::vector<std::string> fields = absl::StrSplit(text.substr(name_end + 2), ' ');
  ProcessSize size;
  int64_t pages = 0;
  if (fields.size() < 22 || !absl::SimpleAtoi(fields[17], &size.threads) ||
      !absl::SimpleAtoi(fields[21], &pages)) {
    return absl::InternalError(absl::StrCat("cannot read ", folder, "/stat"));
  }
  size.resident_bytes = pages * sysconf(_SC_PAGESIZE);
  std::error_code error;
  std::filesystem::directory_iterator descriptors(folder + "/fd", error);
  size.descriptors = error ? 0 : std::distance(begin(descriptors), end(descriptors));
  return size;
}

double Slope(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 2) return 0;
  double mean = 0;
  for (const double value : values) mean += value / n;
  double covariance = 0;
  double variance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double distance = static_cast<double>(i) - (n - 1) / 2;
    covariance += distance * (values[i] - mean);
    variance += distance * distance;
  }
  return covariance / variance;
}

}  // namespace attune::testing
