#include "server/grpc/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/log.h"

namespace attune {
namespace {

// Where in a library's source, without the folders of the machine it was built on.
std::string Place(absl::string_view file, int line) {
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", line);
}

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      break;
  }
  // What libgrpc calls an error is mostly a client's: none of it ends the server.
  return LogLevel::kWarning;
}

void LogForGrpc(gpr_log_func_args* args) {
  Log(LevelOf(args->severity), "grpc", args->message, {{"place", Place(args->file, args->line)}});
}

LogLevel LevelOf(google::protobuf::LogLevel level) {
  switch (level) {
    case google::protobuf::LOGLEVEL_INFO:
      return LogLevel::kInfo;
    case google::protobuf::LOGLEVEL_WARNING:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

// Its messages may name a field; they hold no value of one.
void LogForProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                    const std::string& message) {
  Log(LevelOf(level), "protobuf", message, {{"place", Place(file, line)}});
}

}  // namespace

void LogForLibraries() {
  gpr_set_log_function(LogForGrpc);
  google::protobuf::SetLogHandler(LogForProtobuf);
}

}  // namespace attune
