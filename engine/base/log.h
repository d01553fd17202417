// Structured logs: one JSON object a line on stderr, e.g.
//   {"ts":"2026-01-02T03:04:05.678Z","level":"info","event":"serving","msg":"ready","port":50051}
// or the same as text for people:
//   2026-01-02T03:04:05.678Z info serving "ready" port=50051
// Of each event at most 10 lines a second are written; the next one says how many were held back,
// as "suppressed".
// Never pass request text, metadata values or secrets.
#ifndef ATTUNE_ENGINE_BASE_LOG_H_
#define ATTUNE_ENGINE_BASE_LOG_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attune {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning" or "error"; anything else is kInvalidArgument naming the four.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);

// Lines below `level` are dropped. Default: kInfo. Thread-safe.
void SetLogLevel(LogLevel level);

enum class LogFormat { kJson, kText };

// "json" or "text"; anything else is kInvalidArgument naming the two.
absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view name);

// Default: kJson. Thread-safe.
void SetLogFormat(LogFormat format);

// One key and its value, already in JSON form.
class LogField {
 public:
  LogField(absl::string_view key, absl::string_view value);
  LogField(absl::string_view key, const char* value) : LogField(key, absl::string_view(value)) {}
  LogField(absl::string_view key, const std::string& value)
      : LogField(key, absl::string_view(value)) {}
  LogField(absl::string_view key, double value);
  LogField(absl::string_view key, bool value) : key_(key), json_(value ? "true" : "false") {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) LogField(absl::string_view key, Integer value)
      : key_(key), json_(std::to_string(value)) {}

  absl::string_view key() const { return key_; }
  const std::string& json() const { return json_; }

 private:
  std::string key_;
  std::string json_;
};

// Writes one line. `event` is a stable snake_case name to search for; `message` is for people.
// Control characters are escaped and invalid UTF-8 replaced. Thread-safe; lines do not interleave.
void Log(LogLevel level, absl::string_view event, absl::string_view message,
         std::initializer_list<LogField> fields = {});

void Log(LogLevel level, absl::string_view event, absl::string_view message,
         const std::vector<LogField>& fields);

// The same for an event of every request: the fields are made only if the line is written.
void LogSampled(LogLevel level, absl::string_view event, absl::string_view message,
                absl::FunctionRef<std::vector<LogField>()> make_fields);

}  // namespace attune

#endif  // ATTUNE_ENGINE_BASE_LOG_H_
