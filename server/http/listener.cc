#include "server/http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/http/host_port.h"

namespace attune {
namespace {

// Connections that wait for a free thread; the kernel holds them.
constexpr int kBacklog = 128;

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

FileDescriptor ListenOn(const addrinfo& address) {
  FileDescriptor fd(
      socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (fd.get() < 0 ||
      // A restart need not wait for old connections; SO_REUSEPORT, which shares the port, stays
      // off.
      setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 || listen(fd.get(), kBacklog) != 0) {
    return FileDescriptor();
  }
  return fd;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<Listener> OpenListener(const std::string& address) {
  const std::optional<HostPort> parts = SplitHostPort(address);
  if (!parts.has_value() || parts->port.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(address, " is not of the form HOST:PORT"));
  }
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found)) {
    return absl::UnavailableError(
        absl::StrCat("cannot resolve ", address, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  Listener listener;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    listener.socket = ListenOn(*next);
    if (listener.socket.get() < 0) continue;
    listener.port = PortOf(listener.socket.get());
    return listener;
  }
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
}

}  // namespace attune
