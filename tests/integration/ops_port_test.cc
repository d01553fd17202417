// The operator's port, which answers whatever state the server is in.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/metrics_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Get;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::HttpConnection;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::IsOk;
using ::attune::testing::ParseMetrics;
using ::attune::testing::Post;
using ::attune::testing::SendRequest;
using ::attune::testing::StatusIs;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

ServerOptions OpsOptions(const TinyModel& model) {
  ServerOptions options = TestOptions(model.path());
  options.ops_address = "127.0.0.1:0";
  return options;
}

Json OpenCalls(int port) {
  const HttpReply reply = Get(port, "/debug/calls");
  EXPECT_EQ(reply.status, 200);
  absl::StatusOr<Json> page = ParseJson(reply.body);
  EXPECT_TRUE(page.ok()) << reply.body;
  return page.ok() ? *page : Json::object();
}

TEST(OpsPortTest, HasFourPagesAndNothingElse) {
  const TinyModel model;
  TestServer server(OpsOptions(model));
  const int port = server.server().ops_port();
  EXPECT_EQ(Get(port, "/livez").body, "ok\n");
  EXPECT_EQ(Get(port, "/readyz").status, 200);
  const HttpReply metrics = Get(port, "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.headers,
              Contains(Pair("content-type", "text/plain; version=0.0.4; charset=utf-8")));
  EXPECT_EQ(OpenCalls(port)["in_flight"], 0);

  for (const char* path : {"/", "/v1/model", "/v1/encode", "/metrics/", "/debug", "/..", "//"}) {
    EXPECT_EQ(Get(port, path).status, 404) << path;
  }
  EXPECT_EQ(Post(port, "/v1/encode", "{}").status, 404);
}

TEST(OpsPortTest, TakesGetAndHeadOnly) {
  const TinyModel model;
  TestServer server(OpsOptions(model));
  const int port = server.server().ops_port();
  for (const char* path : {"/metrics", "/livez", "/readyz", "/debug/calls"}) {
    const std::string rest = absl::StrCat(" ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const HttpReply head = SendRequest(port, "HEAD" + rest);
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_EQ(head.body, "");
    for (const char* method : {"DELETE", "PUT", "OPTIONS"}) {
      const HttpReply refused = SendRequest(port, method + rest);
      EXPECT_EQ(refused.status, 405) << method << path;
      EXPECT_THAT(refused.headers, Contains(Pair("allow", "GET, HEAD")));
    }
    EXPECT_EQ(Post(port, path, "{}").status, 405);
  }
}

TEST(OpsPortTest, AnswersBeforeTheModelIsLoaded) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server,
                              Server::Bind(OpsOptions(model)));
  EXPECT_EQ(Get(server->ops_port(), "/livez").status, 200);
  EXPECT_EQ(Get(server->ops_port(), "/readyz").status, 503);
  EXPECT_EQ(ParseMetrics(Get(server->ops_port(), "/metrics").body).at("attune_ready"), 0);
  ASSERT_THAT(server->Load(), IsOk());
  EXPECT_EQ(Get(server->ops_port(), "/readyz").status, 200);
  EXPECT_EQ(ParseMetrics(Get(server->ops_port(), "/metrics").body).at("attune_ready"), 1);
}

TEST(OpsPortTest, ADrainIsSeenAtOnceAndThePortStaysOpen) {
  const TinyModel model;
  ServerOptions options = OpsOptions(model);
  options.drain_delay = absl::Hours(1);
  TestServer server(options);
  const int port = server.server().ops_port();
  std::future<bool> drained =
      std::async(std::launch::async, [&server] { return server.server().Drain(); });
  while (Get(port, "/readyz").status != 503) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Get(port, "/livez").status, 200);
  EXPECT_EQ(ParseMetrics(Get(port, "/metrics").body).at("attune_ready"), 0);
  server.server().Hurry();
  EXPECT_TRUE(drained.get());
}

TEST(OpsPortTest, StaysOpenWhileADrainWaitsForAClient) {
  TinyModelOptions wide;
  wide.hidden = 128;
  const TinyModel model(wide);
  TestServer server(OpsOptions(model));
  const int port = server.server().ops_port();
  const auto context = WithDeadline();
  const auto stream = server.stub().StreamEncode(context.get());
  // Answers of 32 KB each, more than the transport takes before they are read.
  constexpr int kTexts = 64;
  v1::StreamEncodeRequest request;
  request.mutable_options()->set_pooling(v1::POOLING_NONE);
  for (int i = 0; i < 62; ++i) request.set_text(request.text() + "cat ");
  for (int i = 0; i < kTexts; ++i) ASSERT_TRUE(stream->Write(request));
  while (OpenCalls(port)["calls"][0]["texts"] != kTexts) absl::SleepFor(absl::Milliseconds(1));

  std::future<bool> drained =
      std::async(std::launch::async, [&server] { return server.server().Drain(); });
  while (Get(port, "/readyz").status != 503) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Get(port, "/livez").status, 200);
  EXPECT_EQ(OpenCalls(port)["in_flight"], 1);

  int answers = 0;
  for (v1::StreamEncodeResponse response; stream->Read(&response);) ++answers;
  EXPECT_EQ(answers, kTexts);
  EXPECT_THAT(stream->Finish(),
              GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, "the server is draining"));
  EXPECT_TRUE(drained.get());
}

TEST(OpsPortTest, ListsTheCallsInFlightWithoutTheirText) {
  const TinyModel model;
  TestServer server(OpsOptions(model));
  const int port = server.server().ops_port();
  const auto context = WithDeadline();
  context->AddMetadata("x-request-id", "seen-by-the-operator");
  const auto stream = server.stub().StreamEncode(context.get());
  v1::StreamEncodeRequest request;
  request.set_text("the cat");
  v1::StreamEncodeResponse response;
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));

  const Json page = OpenCalls(port);
  EXPECT_EQ(page["in_flight"], 1);
  const Json& call = page["calls"][0];
  EXPECT_EQ(call["method"], "StreamEncode");
  EXPECT_EQ(call["request_id"], "seen-by-the-operator");
  EXPECT_THAT(call["peer"].get<std::string>(), HasSubstr("127.0.0.1"));
  EXPECT_GE(call["age_seconds"].get<double>(), 0);
  EXPECT_EQ(call["texts"], 1);
  EXPECT_EQ(call["tokens"], 4);
  EXPECT_GT(call["request_bytes"].get<int>(), 0);
  EXPECT_THAT(DumpJson(page), Not(HasSubstr("cat")));

  stream->WritesDone();
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
  EXPECT_EQ(OpenCalls(port)["in_flight"], 0);
}

TEST(OpsPortTest, SilentConnectionsDoNotHoldItForLong) {
  const TinyModel model;
  ServerOptions options = OpsOptions(model);
  options.http_io_timeout = absl::Milliseconds(200);
  TestServer server(options);
  const int port = server.server().ops_port();
  std::vector<std::unique_ptr<HttpConnection>> silent;
  for (int i = 0; i < 16; ++i) silent.push_back(std::make_unique<HttpConnection>(port));
  EXPECT_EQ(Get(port, "/livez").status, 200);
}

TEST(OpsPortTest, OtherHostNamesGetNoAnswer) {
  const TinyModel model;
  TestServer server(OpsOptions(model));
  EXPECT_EQ(SendRequest(server.server().ops_port(),
                        "GET /debug/calls HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                .status,
            421);
}

TEST(OpsPortTest, ATakenPortIsAClearError) {
  const TinyModel model;
  TestServer first(OpsOptions(model));
  ServerOptions options = OpsOptions(model);
  options.ops_address = absl::StrCat("127.0.0.1:", first.server().ops_port());
  EXPECT_THAT(Server::Bind(options),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--ops-address")));
}

}  // namespace
}  // namespace attune
