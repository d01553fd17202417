// The gRPC channels behind a Client. All retrying, balancing and reconnecting is gRPC's own,
// configured here.
//
// A list of servers, or a name that resolves to several (a headless Service, say), is balanced call
// by call. Each server has a connection and on it a Watch of its health: one that says NOT_SERVING,
// or is gone, gets no further calls until it is back, and those that it has may be tried again
// elsewhere. A list stays as it is. A name is resolved again when a connection ends, so a server
// that is added gets calls once another one leaves, restarts, or closes its connections for their
// age, which attune does after 30 minutes. gRPC 1.51 does not hedge calls in C++.
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
