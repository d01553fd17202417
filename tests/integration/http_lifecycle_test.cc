// The HTTP port from its opening to its end, and clients that stall or go away.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Get;
using ::attune::testing::GetRequest;
using ::attune::testing::HttpConnection;
using ::attune::testing::HttpReply;
using ::attune::testing::IsOk;
using ::attune::testing::Post;
using ::attune::testing::PostRequest;
using ::attune::testing::StatusIs;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;

constexpr char kCat[] = R"({"texts": {"values": ["the cat"]}})";

int64_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Leaves the process without a free file descriptor while it lives.
class NoFreeDescriptors {
 public:
  NoFreeDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }
  ~NoFreeDescriptors() {
    for (const int fd : taken_) close(fd);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_ = {};
  std::vector<int> taken_;
};

ServerOptions HttpOptions(const TinyModel& model) {
  ServerOptions options = TestOptions(model.path());
  options.http_address = "127.0.0.1:0";
  options.http_threads = 2;
  return options;
}

TEST(HttpLifecycleTest, BeforeTheModelIsLoadedOnlyLivenessIsServed) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server,
                              Server::Bind(HttpOptions(model)));
  EXPECT_EQ(Get(server->http_port(), "/livez").status, 200);
  EXPECT_EQ(Get(server->http_port(), "/readyz").status, 503);
  const HttpReply refused = Post(server->http_port(), "/v1/encode", kCat);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("the server is loading"));
  EXPECT_THAT(refused.headers, Contains(Key("retry-after")));

  ASSERT_THAT(server->Load(), IsOk());
  EXPECT_EQ(Get(server->http_port(), "/readyz").status, 200);
  EXPECT_EQ(Post(server->http_port(), "/v1/encode", kCat).status, 200);
}

TEST(HttpLifecycleTest, ATakenPortAndABadAddressAreClearErrors) {
  const TinyModel model;
  TestServer first(HttpOptions(model));
  ServerOptions options = HttpOptions(model);
  options.http_address = absl::StrCat("127.0.0.1:", first.server().http_port());
  EXPECT_THAT(Server::Bind(options),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--http-address")));
  options.http_address = "localhost";
  EXPECT_THAT(Server::Bind(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")));
}

TEST(HttpLifecycleTest, OffMeansNoPort) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  EXPECT_EQ(server.server().http_port(), 0);
}

TEST(HttpLifecycleTest, ADrainIsSeenAndServesUntilItsDelayIsOver) {
  const TinyModel model;
  ServerOptions options = HttpOptions(model);
  options.drain_delay = absl::Hours(1);
  TestServer server(options);
  const int port = server.server().http_port();
  std::future<bool> drained =
      std::async(std::launch::async, [&server] { return server.server().Drain(); });
  while (Get(port, "/readyz").status != 503) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Get(port, "/livez").status, 200);
  EXPECT_EQ(Post(port, "/v1/encode", kCat).status, 200);
  server.server().Hurry();
  EXPECT_TRUE(drained.get());
}

TEST(HttpLifecycleTest, AStopDoesNotWaitForConnectionsThatSayNothing) {
  const TinyModel model;
  ServerOptions options = HttpOptions(model);
  options.http_io_timeout = absl::Hours(1);
  TestServer server(options);
  HttpConnection silent(server.server().http_port());
  HttpConnection halfway(server.server().http_port());
  halfway.Send("POST /v1/encode HTTP/1.1\r\nHost: loc");
  EXPECT_TRUE(server.server().Drain());
  EXPECT_EQ(silent.ReadReply().status, 0);
}

TEST(HttpLifecycleTest, RequestsThatDoNotArriveInTimeAreEnded) {
  const TinyModel model;
  ServerOptions options = HttpOptions(model);
  options.http_io_timeout = absl::Milliseconds(300);
  TestServer server(options);
  const int port = server.server().http_port();
  {
    HttpConnection silent(port);
    HttpConnection in_headers(port);
    in_headers.Send("POST /v1/encode HTTP/1.1\r\nHost: loc");
    EXPECT_EQ(silent.ReadReply().status, 0);
    EXPECT_EQ(in_headers.ReadReply().status, 408);
  }
  HttpConnection in_body(port);
  const std::string request = PostRequest("/v1/encode", kCat);
  in_body.Send(request.substr(0, request.size() - 1));
  const HttpReply reply = in_body.ReadReply();
  EXPECT_EQ(reply.status, 408);
  EXPECT_THAT(reply.body, HasSubstr("did not arrive within 300ms"));
  EXPECT_EQ(Post(port, "/v1/encode", kCat).status, 200);
}

TEST(HttpLifecycleTest, AReaderThatStallsHoldsItsThreadForALimitedTime) {
  const TinyModel model;
  ServerOptions options = HttpOptions(model);
  options.http_threads = 1;
  options.http_io_timeout = absl::Milliseconds(300);
  TestServer server(options);
  const int port = server.server().http_port();
  // 2,048 texts of token vectors, as JSON: megabytes, more than sockets buffer.
  std::string body = R"({"options": {"pooling": "POOLING_NONE"}, "texts": {"values": ["cat")";
  for (int i = 1; i < 2048; ++i) body += R"(, "the cat sat the cat sat the cat sat")";
  body += "]}}";
  HttpConnection stalled(port);
  stalled.Send(PostRequest("/v1/encode", body));
  EXPECT_EQ(Post(port, "/v1/encode", kCat).status, 200);
}

TEST(HttpLifecycleTest, ClientsThatLeaveDoNotHoldAThread) {
  const TinyModel model;
  ServerOptions options = HttpOptions(model);
  options.http_threads = 1;
  TestServer server(options);
  const int port = server.server().http_port();
  for (int i = 0; i < 20; ++i) {
    HttpConnection leaving(port);
    leaving.Send(PostRequest("/v1/encode", kCat));
  }
  EXPECT_EQ(Post(port, "/v1/encode", kCat).status, 200);
}

TEST(HttpLifecycleTest, WithoutFileDescriptorsACallIsRefusedAndTheNextServed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer, built in with it, looks at memory through a pipe";
#endif
  const TinyModel model;
  TestServer server(HttpOptions(model));
  const int port = server.server().http_port();
  const int64_t before = OpenDescriptors();
  HttpConnection accepted(port);
  while (OpenDescriptors() < before + 2) absl::SleepFor(absl::Milliseconds(1));
  {
    const NoFreeDescriptors exhausted;
    accepted.Send(PostRequest("/v1/encode", kCat));
    const HttpReply refused = accepted.ReadReply();
    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body, HasSubstr("file descriptors"));
  }
  EXPECT_EQ(Post(port, "/v1/encode", kCat).status, 200);
}

TEST(HttpLifecycleTest, TheServersDeadlineEndsACall) {
  const TinyModel model;
  ServerOptions options = HttpOptions(model);
  options.max_deadline = absl::Milliseconds(1);
  TestServer server(options);
  std::string body = R"({"texts": {"values": ["cat")";
  for (int i = 1; i < 2048; ++i) body += R"(, "the cat sat the cat sat the cat sat")";
  body += "]}}";
  const HttpReply reply = Post(server.server().http_port(), "/v1/encode", body);
  EXPECT_EQ(reply.status, 504);
  EXPECT_THAT(reply.body, HasSubstr("deadline"));
}

}  // namespace
}  // namespace attune
