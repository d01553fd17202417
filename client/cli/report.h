// How the program ends: its exit codes and what it says about an error.
#ifndef ATTUNE_CLIENT_CLI_REPORT_H_
#define ATTUNE_CLIENT_CLI_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "client/client_options.h"

namespace attune::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;

// What went wrong and what to do next, for standard error. Safe for a terminal.
std::string DescribeError(const absl::Status& status, const ClientOptions& options);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_REPORT_H_
