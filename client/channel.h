// The gRPC channels behind a Client. All retrying, balancing and reconnecting is gRPC's own,
// configured here.
#ifndef ATTUNE_CLIENT_CHANNEL_H_
#define ATTUNE_CLIENT_CHANNEL_H_

#include <memory>
#include <string>

#include "client/client_options.h"
#include "grpcpp/channel.h"

namespace attune {

// A channel for attune.v1.EncoderService: retries, round robin over the addresses that report
// SERVING. `options` must be valid.
std::shared_ptr<grpc::Channel> CreateEncoderChannel(const ClientOptions& options);

// A channel for grpc.health.v1.Health, which must also reach a server that is not SERVING: no
// retries, no health filter.
std::shared_ptr<grpc::Channel> CreateHealthChannel(const ClientOptions& options);

// The service config of CreateEncoderChannel (gRFC A6 for retries, A17 for health).
std::string EncoderServiceConfig(const ClientOptions& options);

}  // namespace attune

#endif  // ATTUNE_CLIENT_CHANNEL_H_
