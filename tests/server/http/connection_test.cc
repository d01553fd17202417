#include "server/http/connection.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace attune {
namespace {

void Signal(int event) {
  const uint64_t one = 1;
  ASSERT_EQ(write(event, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

class ConnectionTest : public ::testing::Test {
 protected:
  static constexpr int64_t kHeaderBytes = 10;

  ConnectionTest() : stop_(eventfd(0, 0)), event_(eventfd(0, 0)) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    client_ = FileDescriptor(fds[0]);
    server_fd_ = fds[1];
  }

  Connection Make(absl::Duration io_timeout = absl::Hours(1)) {
    return {Socket(FileDescriptor(server_fd_), nullptr), stop_.get(), {io_timeout, kHeaderBytes}};
  }
  void Send(const std::string& bytes) {
    ASSERT_EQ(send(client_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  FileDescriptor stop_;
  FileDescriptor event_;
  FileDescriptor client_;
  int server_fd_ = -1;
};

std::string Read(Connection& connection, size_t bytes) {
  std::string result(bytes, '\0');
  const ssize_t n = connection.read(result.data(), bytes);
  result.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return result;
}

TEST_F(ConnectionTest, ReadsNoMoreThanItsHeadersAndTheExpectedBody) {
  Connection connection = Make();
  Send("0123456789abcdef");
  EXPECT_EQ(Read(connection, 4), "0123");
  connection.ExpectBody(9);  // of which 6 are in the buffer
  EXPECT_EQ(Read(connection, 100), "456789");
  EXPECT_EQ(Read(connection, 100), "abc");
  EXPECT_EQ(Read(connection, 100), "");
  EXPECT_EQ(connection.failure(), Connection::Failure::kTooLarge);
}

TEST_F(ConnectionTest, ARequestHasOneDeadlineHoweverItDrips) {
  Connection connection = Make(absl::ZeroDuration());
  EXPECT_EQ(Read(connection, 1), "");
  EXPECT_EQ(connection.failure(), Connection::Failure::kTimeout);
}

TEST_F(ConnectionTest, AClosedPeerEndsReading) {
  Connection connection = Make();
  client_ = FileDescriptor();
  EXPECT_EQ(Read(connection, 1), "");
  EXPECT_EQ(connection.failure(), Connection::Failure::kClosed);
}

TEST_F(ConnectionTest, WaitingEndsWithTheEvent) {
  Connection connection = Make();
  Signal(event_.get());
  EXPECT_EQ(connection.WaitFor(event_.get(), absl::InfiniteFuture()),
            Connection::WaitResult::kReady);
}

TEST_F(ConnectionTest, WaitingEndsWhenTheClientLeaves) {
  Connection connection = Make();
  client_ = FileDescriptor();
  EXPECT_EQ(connection.WaitFor(event_.get(), absl::InfiniteFuture()),
            Connection::WaitResult::kClosed);
}

TEST_F(ConnectionTest, WaitingEndsAtTheDeadlineAndWithTheServer) {
  Connection connection = Make();
  EXPECT_EQ(connection.WaitFor(event_.get(), absl::Now()), Connection::WaitResult::kTimeout);
  Signal(stop_.get());
  EXPECT_EQ(connection.WaitFor(event_.get(), absl::InfiniteFuture()),
            Connection::WaitResult::kClosed);
  EXPECT_EQ(connection.write("x", 1), -1);
}

}  // namespace
}  // namespace attune
