// How a Client reaches its servers.
#ifndef ATTUNE_CLIENT_CLIENT_OPTIONS_H_
#define ATTUNE_CLIENT_CLIENT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace attune {

struct ClientOptions {
  // HOST:PORT, a list of IP:PORT with commas between, or any gRPC target. Calls go in turn to those
  // servers of a list, or of a name that resolves to several, that report SERVING. Proxies named in
  // the environment are not used.
  std::string address = "127.0.0.1:50051";
  // If set, TLS is spoken, and servers must have a certificate from this authority (PEM, the text
  // itself). The name in it must be that of `address`.
  std::string tls_ca = {};
  // The name in the servers' certificates, where that is not the one of `address`. A list needs it.
  std::string tls_name = {};
  // This client's own certificate chain and key (PEM), for servers that ask for one.
  std::string tls_cert = {};
  std::string tls_key = {};
  // If set, every call carries it as its bearer token. Without TLS, whoever can read the network
  // can read it.
  std::string token = {};
  // Every call ends within this time, its retries included.
  absl::Duration deadline = absl::Seconds(30);
  // Attempts per call, 1 (no retry) to 5. Only UNAVAILABLE and RESOURCE_EXHAUSTED are tried again,
  // after the delay that the server asks for if it names one.
  int max_attempts = 4;
  // The largest reply that is accepted, in bytes. Attention maps can be larger than embeddings.
  int max_receive_bytes = 64 << 20;
  // If set, Encode and EncodeAll fail with kFailedPrecondition when the server's vectors have
  // another dimension; the server checks before it works.
  std::optional<uint32_t> expected_dimension = std::nullopt;
  // A connection of its own, not shared with other clients of this process to the same address.
  bool private_connection = false;

  // kInvalidArgument naming the first option that is out of range.
  absl::Status Validate() const;
};

}  // namespace attune

#endif  // ATTUNE_CLIENT_CLIENT_OPTIONS_H_
