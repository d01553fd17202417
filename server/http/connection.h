#ifndef ATTUNE_SERVER_HTTP_CONNECTION_H_
#define ATTUNE_SERVER_HTTP_CONNECTION_H_

#include <httplib.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/http/head_meter.h"
#include "server/http/listener.h"
#include "server/http/socket.h"

namespace attune {

struct ConnectionLimits {
  // For the whole request to arrive; and how long a reply may make no progress.
  absl::Duration io_timeout;
  // Request line and headers.
  int64_t max_head_bytes = 0;
};

// One accepted connection, which carries one request, as httplib's parser reads and writes it. What
// httplib leaves open is bounded here: the time, head and bytes of a request, and the time of a
// reply. Used by one thread; borrows the descriptor `stop`, and ends what it does at once when
// that becomes readable.
class Connection final : public httplib::Stream {
 public:
  // kHeadTooLarge: head_excess() says how. kTooLarge: the head or the body as a whole.
  enum class Failure { kNone, kTimeout, kHeadTooLarge, kTooLarge, kClosed };

  Connection(Socket socket, int stop, const ConnectionLimits& limits);

  // The headers are read; this many bytes may follow.
  void ExpectBody(int64_t bytes);

  enum class WaitResult { kReady, kClosed, kTimeout };
  // Waits until `event` is readable; kClosed as soon as the client has gone or the server stops.
  WaitResult WaitFor(int event, absl::Time deadline);

  // Ends the reply, and takes what the client still sends for a moment: closing on unread bytes
  // would destroy the reply on its way.
  void CloseGently();

  // Where the client is, as gRPC would say: "ipv4:127.0.0.1:50000"; empty once that is unknown.
  std::string peer() const;

  // Why the last read failed.
  Failure failure() const { return failure_; }
  HeadMeter::Excess head_excess() const { return head_excess_; }

  // httplib::Stream.
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, size_t size) override;
  ssize_t write(const char* data, size_t size) override;
  // Nobody asks who the peer is, and httplib must not wait on the socket itself.
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return 0; }

 private:
  // Waits until the socket has `events`, or the server stops.
  WaitResult Poll(short events, absl::Time deadline) const;
  // Refills the empty buffer, or tells why nothing more comes.
  Failure Fill();

  Socket socket_;
  const int stop_;
  const absl::Duration io_timeout_;
  const absl::Time read_deadline_;

  std::array<char, 16384> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t receivable_bytes_;
  HeadMeter head_meter_;
  HeadMeter::Excess head_excess_ = HeadMeter::Excess::kNone;
  Failure failure_ = Failure::kNone;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_HTTP_CONNECTION_H_
