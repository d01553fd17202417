#include "engine/base/log.h"

#include <atomic>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/base/json.h"

namespace attune {
namespace {

std::atomic<LogLevel> g_min_level{LogLevel::kInfo};

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (name == LevelName(level)) return level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log level \"", name, "\" is not one of debug, info, warning, error"));
}

void SetLogLevel(LogLevel level) { g_min_level.store(level, std::memory_order_relaxed); }

LogField::LogField(absl::string_view key, absl::string_view value)
    : key_(key), json_(QuoteJson(value)) {}

// All digits that matter; NaN and infinities, which JSON lacks, become null.
LogField::LogField(absl::string_view key, double value) : key_(key), json_(DumpJson(Json(value))) {}

void Log(LogLevel level, absl::string_view event, absl::string_view message,
         std::initializer_list<LogField> fields) {
  if (level < g_min_level.load(std::memory_order_relaxed)) return;
  std::string line = absl::StrCat(
      "{\"ts\":\"", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone()),
      "\",\"level\":\"", LevelName(level), "\",\"event\":", QuoteJson(event),
      ",\"msg\":", QuoteJson(message));
  for (const LogField& field : fields) {
    absl::StrAppend(&line, ",", QuoteJson(field.key()), ":", field.json());
  }
  line += "}\n";
  // One call for the whole line: stdio locks the stream, so lines of two threads stay apart.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace attune
