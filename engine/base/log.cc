#include "engine/base/log.h"

#include <atomic>
#include <cstdio>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/base/json.h"
#include "engine/base/line_limiter.h"

namespace attune {
namespace {

constexpr int kLinesPerSecond = 10;

std::atomic<LogLevel> g_min_level{LogLevel::kInfo};
std::atomic<LogFormat> g_format{LogFormat::kJson};

// Never destroyed: threads may log until the process ends.
LineLimiter& Limiter() {
  static LineLimiter& limiter = *new LineLimiter(kLinesPerSecond);
  return limiter;
}

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

// What comes before the fields.
std::string Opening(LogFormat format, LogLevel level, absl::string_view event,
                    absl::string_view message, absl::Time now) {
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", now, absl::UTCTimeZone());
  if (format == LogFormat::kText) {
    return absl::StrCat(time, " ", LevelName(level), " ", event, " ", QuoteJson(message));
  }
  return absl::StrCat("{\"ts\":\"", time, "\",\"level\":\"", LevelName(level),
                      "\",\"event\":", QuoteJson(event), ",\"msg\":", QuoteJson(message));
}

void AppendField(LogFormat format, const LogField& field, std::string& line) {
  if (format == LogFormat::kText) {
    absl::StrAppend(&line, " ", field.key(), "=", field.json());
  } else {
    absl::StrAppend(&line, ",", QuoteJson(field.key()), ":", field.json());
  }
}

// Whether a line is to be written; if so, how many were held back before it.
std::optional<int64_t> Admit(LogLevel level, absl::string_view event, absl::Time now) {
  if (level < g_min_level.load(std::memory_order_relaxed)) return std::nullopt;
  return Limiter().Admit(event, now);
}

void WriteLine(std::string line, LogFormat format, absl::Span<const LogField> fields,
               int64_t suppressed) {
  for (const LogField& field : fields) AppendField(format, field, line);
  if (suppressed > 0) AppendField(format, {"suppressed", suppressed}, line);
  line += format == LogFormat::kText ? "\n" : "}\n";
  // One call for the whole line: stdio locks the stream, so lines of two threads stay apart.
  std::fwrite(line.data(), 1, line.size(), stderr);
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

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view name) {
  if (name == "json") return LogFormat::kJson;
  if (name == "text") return LogFormat::kText;
  return absl::InvalidArgumentError(
      absl::StrCat("log format ", QuoteJson(ShortenForMessage(name)), " is not json or text"));
}

void SetLogFormat(LogFormat format) { g_format.store(format, std::memory_order_relaxed); }

LogField::LogField(absl::string_view key, absl::string_view value)
    : key_(key), json_(QuoteJson(value)) {}

// All digits that matter; NaN and infinities, which JSON lacks, become null.
LogField::LogField(absl::string_view key, double value) : key_(key), json_(DumpJson(Json(value))) {}

void Log(LogLevel level, absl::string_view event, absl::string_view message,
         std::initializer_list<LogField> fields) {
  const absl::Time now = absl::Now();
  const std::optional<int64_t> suppressed = Admit(level, event, now);
  if (!suppressed.has_value()) return;
  const LogFormat format = g_format.load(std::memory_order_relaxed);
  WriteLine(Opening(format, level, event, message, now), format,
            absl::MakeConstSpan(fields.begin(), fields.size()), *suppressed);
}

void Log(LogLevel level, absl::string_view event, absl::string_view message,
         const std::vector<LogField>& fields) {
  LogSampled(level, event, message, [&fields] { return fields; });
}

void LogSampled(LogLevel level, absl::string_view event, absl::string_view message,
                absl::FunctionRef<std::vector<LogField>()> make_fields) {
  const absl::Time now = absl::Now();
  const std::optional<int64_t> suppressed = Admit(level, event, now);
  if (!suppressed.has_value()) return;
  const LogFormat format = g_format.load(std::memory_order_relaxed);
  WriteLine(Opening(format, level, event, message, now), format, make_fields(), *suppressed);
}

}  // namespace attune
