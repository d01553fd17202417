#ifndef ATTUNE_SERVER_CHECK_COMMAND_H_
#define ATTUNE_SERVER_CHECK_COMMAND_H_

#include "absl/status/status.h"
#include "server/server_options.h"

namespace attune {

// `attune-server check`: does what a start does, short of opening a port, and prints what would
// serve to standard output, as JSON if `json`. The error is the one that the start would end with.
absl::Status CheckStart(const ServerOptions& options, bool json);

}  // namespace attune

#endif  // ATTUNE_SERVER_CHECK_COMMAND_H_
