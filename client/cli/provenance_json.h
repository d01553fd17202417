#ifndef ATTUNE_CLIENT_CLI_PROVENANCE_JSON_H_
#define ATTUNE_CLIENT_CLI_PROVENANCE_JSON_H_

#include "attune/v1/attune.pb.h"
#include "client/cli/json.h"

namespace attune::cli {

// What is needed to get the same numbers again.
Json ProvenanceToJson(const v1::Provenance& provenance);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_PROVENANCE_JSON_H_
