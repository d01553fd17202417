// Tokens as JSON.
#ifndef ATTUNE_CLIENT_CLI_TOKEN_JSON_H_
#define ATTUNE_CLIENT_CLI_TOKEN_JSON_H_

#include "attune/v1/attune.pb.h"
#include "client/cli/json.h"

namespace attune::cli {

// {"text", "id", "bytes": [begin, end], "code_points": [begin, end], "word", "special"}; word is
// null for a token that the template added.
Json TokenToJson(const v1::Token& token);

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_TOKEN_JSON_H_
