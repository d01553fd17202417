#ifndef ATTUNE_CLIENT_CLI_CONNECTION_FLAGS_H_
#define ATTUNE_CLIENT_CLI_CONNECTION_FLAGS_H_

#include "client/cli/flags.h"
#include "client/client_options.h"

namespace attune::cli {

// Adds --server, --tls-ca, --tls-name, --tls-cert, --tls-key and --token-file, and takes
// ATTUNE_TOKEN. Files are read when the command line is; `options` must live until then.
void AddConnectionFlags(Flags& flags, ClientOptions& options);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_CONNECTION_FLAGS_H_
