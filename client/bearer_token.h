#ifndef ATTUNE_CLIENT_BEARER_TOKEN_H_
#define ATTUNE_CLIENT_BEARER_TOKEN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/client_interceptor.h"

namespace attune {

// kInvalidArgument, without saying what it is, for a token that metadata cannot carry.
absl::Status CheckToken(absl::string_view token);

// What makes every call on a channel carry `token`; nothing if it is empty. gRPC's own call
// credentials would do so over TLS only, which inside one machine is not asked for.
std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
BearerTokenInterceptors(const std::string& token);

}  // namespace attune

#endif  // ATTUNE_CLIENT_BEARER_TOKEN_H_
