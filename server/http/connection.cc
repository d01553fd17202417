#include "server/http/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/clock.h"

namespace attune {
namespace {

// A client that reads a reply slowly, but always a little, is served for this many io timeouts.
constexpr int kWriteTimeouts = 10;

// What a client may still be sending when its request has been refused.
constexpr int64_t kDiscardBytes = 1 << 20;
constexpr absl::Duration kDiscardTime = absl::Seconds(1);

int PollMilliseconds(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - SteadyNow(), absl::Hours(1));
  // Rounded up, so that a wait does not end a fraction before its deadline.
  return static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(left) + 1));
}

}  // namespace

Connection::Connection(Socket socket, int stop, const ConnectionLimits& limits)
    : socket_(std::move(socket)),
      stop_(stop),
      io_timeout_(limits.io_timeout),
      read_deadline_(SteadyNow() + limits.io_timeout),
      receivable_bytes_(limits.max_head_bytes) {}

void Connection::ExpectBody(int64_t bytes) {
  receivable_bytes_ = std::max<int64_t>(0, bytes - static_cast<int64_t>(end_ - begin_));
}

Connection::WaitResult Connection::WaitFor(int event, absl::Time deadline) {
  // POLLRDHUP: the client closed its side, which for HTTP means that it has given up.
  pollfd fds[] = {{event, POLLIN, 0}, {socket_.fd(), POLLRDHUP, 0}, {stop_, POLLIN, 0}};
  while (true) {
    const int ready = poll(fds, std::size(fds), PollMilliseconds(deadline));
    if (ready < 0 && errno != EINTR) return WaitResult::kClosed;
    if (fds[0].revents != 0) return WaitResult::kReady;
    if (fds[1].revents != 0 || fds[2].revents != 0) return WaitResult::kClosed;
    if (SteadyNow() >= deadline) return WaitResult::kTimeout;
  }
}

Connection::WaitResult Connection::Poll(short events, absl::Time deadline) const {
  pollfd fds[] = {{socket_.fd(), events, 0}, {stop_, POLLIN, 0}};
  while (true) {
    const int ready = poll(fds, std::size(fds), PollMilliseconds(deadline));
    if ((ready < 0 && errno != EINTR) || fds[1].revents != 0) return WaitResult::kClosed;
    if (fds[0].revents != 0) return WaitResult::kReady;
    if (SteadyNow() >= deadline) return WaitResult::kTimeout;
  }
}

Connection::Failure Connection::Fill() {
  if (receivable_bytes_ == 0) return Failure::kTooLarge;
  const size_t most = std::min(buffer_.size(), static_cast<size_t>(receivable_bytes_));
  short wait_for = socket_.has_decrypted() ? 0 : POLLIN;
  while (true) {
    const WaitResult waited = wait_for == 0 ? WaitResult::kReady : Poll(wait_for, read_deadline_);
    if (waited == WaitResult::kTimeout) return Failure::kTimeout;
    if (waited == WaitResult::kClosed) return Failure::kClosed;
    const Socket::Result received = socket_.Receive(buffer_.data(), most);
    if (received.bytes > 0) {
      begin_ = 0;
      end_ = received.bytes;
      receivable_bytes_ -= static_cast<int64_t>(received.bytes);
      return Failure::kNone;
    }
    if (received.wait_for == 0) return Failure::kClosed;
    wait_for = received.wait_for;
  }
}

std::string Connection::peer() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (getpeername(socket_.fd(), generic, &size) != 0 ||
      getnameinfo(generic, size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return absl::StrCat(address.ss_family == AF_INET6 ? "ipv6:[" : "ipv4:", host,
                      address.ss_family == AF_INET6 ? "]:" : ":", port);
}

ssize_t Connection::read(char* data, size_t size) {
  if (failure_ == Failure::kNone && begin_ == end_) failure_ = Fill();
  if (failure_ != Failure::kNone) return -1;
  const size_t bytes = std::min(size, end_ - begin_);
  // Of what is read, not of what has arrived: httplib answers only once it has the first line.
  head_excess_ = head_meter_.Take({buffer_.data() + begin_, bytes});
  if (head_excess_ != HeadMeter::Excess::kNone) {
    failure_ = Failure::kHeadTooLarge;
    return -1;
  }
  std::memcpy(data, buffer_.data() + begin_, bytes);
  begin_ += bytes;
  return static_cast<ssize_t>(bytes);
}

ssize_t Connection::write(const char* data, size_t size) {
  const absl::Time last = SteadyNow() + kWriteTimeouts * io_timeout_;
  size_t written = 0;
  short wait_for = POLLOUT;
  while (written < size) {
    const absl::Time deadline = std::min(last, SteadyNow() + io_timeout_);
    if (Poll(wait_for, deadline) != WaitResult::kReady) return -1;
    const Socket::Result sent = socket_.Send(data + written, size - written);
    if (sent.bytes == 0 && sent.wait_for == 0) return -1;
    written += sent.bytes;
    wait_for = sent.bytes > 0 ? short{POLLOUT} : sent.wait_for;
  }
  return static_cast<ssize_t>(size);
}

void Connection::CloseGently() {
  socket_.FinishSending();
  const absl::Time end = SteadyNow() + kDiscardTime;
  int64_t left = kDiscardBytes;
  while (left > 0 && Poll(POLLIN, end) == WaitResult::kReady) {
    const Socket::Result received = socket_.Discard(buffer_.data(), buffer_.size());
    if (received.bytes == 0 && received.wait_for == 0) return;
    left -= static_cast<int64_t>(received.bytes);
  }
}

}  // namespace attune
