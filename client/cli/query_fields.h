// The fields of AttentionQuery under the names of the flags that set them.
#ifndef ATTUNE_CLIENT_CLI_QUERY_FIELDS_H_
#define ATTUNE_CLIENT_CLI_QUERY_FIELDS_H_

#include "absl/status/status.h"

namespace attune::cli {

// `status` with --layer for query.layers and so on, so that who typed a flag reads about a flag.
absl::Status WithFlagNames(const absl::Status& status);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_QUERY_FIELDS_H_
