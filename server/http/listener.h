#ifndef ATTUNE_SERVER_HTTP_LISTENER_H_
#define ATTUNE_SERVER_HTTP_LISTENER_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace attune {

// A file descriptor that is closed with its owner. Move-only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// A listening TCP socket that does not block.
struct Listener {
  FileDescriptor socket;
  int port = 0;
};

// Opens `address`, HOST:PORT; port 0 lets the system choose. The port is never shared with another
// process. kUnavailable when it is taken or no address of this machine; kInvalidArgument when it is
// not of that form.
absl::StatusOr<Listener> OpenListener(const std::string& address);

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_LISTENER_H_
