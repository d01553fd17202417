#include "server/metrics/process_metrics.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/cgroup.h"

namespace attune {
namespace {

std::optional<double> NumberOf(absl::string_view text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) return std::nullopt;
  return number;
}

// What follows `key` and spaces on its line.
std::optional<double> NumberAfter(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, key)) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (!words.empty()) return NumberOf(words.front());
  }
  return std::nullopt;
}

// /proc/self/stat: proc(5) numbers its fields from 1. The second, the program's name in brackets,
// may hold anything.
void ReadStat(absl::string_view stat, double boot_time, ProcessReading& reading) {
  constexpr size_t kFirstField = 3;  // after the name
  constexpr size_t kUserTime = 14;
  constexpr size_t kSystemTime = 15;
  constexpr size_t kStartTime = 22;
  constexpr size_t kVirtualBytes = 23;
  constexpr size_t kResidentPages = 24;

  const size_t name_end = stat.rfind(") ");
  if (name_end == absl::string_view::npos) return;
  const std::vector<absl::string_view> fields = absl::StrSplit(stat.substr(name_end + 2), ' ');
  const auto field = [&fields](size_t number) -> std::optional<double> {
    const size_t index = number - kFirstField;
    return index < fields.size() ? NumberOf(fields[index]) : std::nullopt;
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto user = field(kUserTime);
  const auto system = field(kSystemTime);
  if (user.has_value() && system.has_value()) reading.cpu_seconds = (*user + *system) / ticks;
  if (const auto start = field(kStartTime)) reading.start_time_seconds = boot_time + *start / ticks;
  reading.virtual_bytes = field(kVirtualBytes);
  if (const auto pages = field(kResidentPages)) {
    reading.resident_bytes = *pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
}

std::optional<double> CountFiles(const std::string& directory) {
  std::error_code error;
  double files = 0;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    ++files;
  }
  if (error) return std::nullopt;
  return files;
}

// Of the group of this process, by version 2 or else version 1.
std::optional<double> ReadThrottledSeconds(const std::string& root) {
  for (absl::string_view controller : {"", "cpu"}) {
    const std::vector<std::string> folders = CgroupFolders(root, controller);
    if (folders.empty()) continue;
    const auto seconds = ParseThrottledSeconds(ReadSystemFile(folders.front() + "/cpu.stat"));
    if (seconds.has_value()) return seconds;
  }
  return std::nullopt;
}

void Set(prometheus::Gauge& gauge, std::optional<double> value) {
  if (value.has_value()) gauge.Set(*value);
}

void RaiseTo(prometheus::Counter& counter, std::optional<double> value) {
  if (value.has_value() && *value > counter.Value()) counter.Increment(*value - counter.Value());
}

}  // namespace

std::optional<double> ParseThrottledSeconds(absl::string_view cpu_stat) {
  if (const auto microseconds = NumberAfter(cpu_stat, "throttled_usec ")) {
    return *microseconds / 1e6;
  }
  if (const auto nanoseconds = NumberAfter(cpu_stat, "throttled_time ")) return *nanoseconds / 1e9;
  return std::nullopt;
}

ProcessReading ReadProcess(const std::string& root) {
  ProcessReading reading;
  const auto boot_time = NumberAfter(ReadSystemFile(root + "/proc/stat"), "btime ");
  ReadStat(ReadSystemFile(root + "/proc/self/stat"), boot_time.value_or(0), reading);
  reading.open_fds = CountFiles(root + "/proc/self/fd");
  reading.max_fds = NumberAfter(ReadSystemFile(root + "/proc/self/limits"), "Max open files");
  reading.throttled_seconds = ReadThrottledSeconds(root);
  return reading;
}

ProcessMetrics::ProcessMetrics(prometheus::Registry& registry) {
  const auto gauge = [&registry](const char* name, const char* help) {
    return &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  };
  const auto counter = [&registry](const char* name, const char* help) {
    return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  };
  cpu_seconds_ = counter("process_cpu_seconds_total", "Processor time of this process");
  throttled_seconds_ = counter("attune_cpu_throttled_seconds_total",
                               "Time that the control group's quota kept threads from running");
  resident_bytes_ = gauge("process_resident_memory_bytes", "Memory in use");
  virtual_bytes_ = gauge("process_virtual_memory_bytes", "Address space in use");
  start_time_ = gauge("process_start_time_seconds", "When this process began, as a Unix time");
  open_fds_ = gauge("process_open_fds", "File descriptors in use");
  max_fds_ = gauge("process_max_fds", "File descriptors that may be in use");
}

void ProcessMetrics::Update(const ProcessReading& reading) {
  {
    MutexLock lock(mu_);
    RaiseTo(*cpu_seconds_, reading.cpu_seconds);
    RaiseTo(*throttled_seconds_, reading.throttled_seconds);
  }
  Set(*resident_bytes_, reading.resident_bytes);
  Set(*virtual_bytes_, reading.virtual_bytes);
  Set(*start_time_, reading.start_time_seconds);
  Set(*open_fds_, reading.open_fds);
  Set(*max_fds_, reading.max_fds);
}

}  // namespace attune
