// Request ids and trace contexts: given back, logged, and never a reason to fail.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::PostRequest;
using ::attune::testing::SendRequest;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kTraceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kFreshId[] = "[0-9a-f]{32}";

// All values of the request id in `metadata`.
std::vector<std::string> IdsIn(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  std::vector<std::string> ids;
  for (const auto& [key, value] : metadata) {
    if (key == "x-request-id") ids.emplace_back(value.data(), value.size());
  }
  return ids;
}

v1::EncodeRequest Texts(const std::vector<std::string>& texts) {
  v1::EncodeRequest request;
  for (const std::string& text : texts) request.mutable_texts()->add_values(text);
  return request;
}

class RequestIdentityTest : public ::testing::Test {
 protected:
  explicit RequestIdentityTest(bool access_log = false) : server_(Options(access_log)) {}

  ServerOptions Options(bool access_log) const {
    ServerOptions options = TestOptions(model_.path());
    options.http_address = "127.0.0.1:0";
    options.access_log = access_log;
    return options;
  }

  TinyModel model_;
  TestServer server_;
};

class CallLogTest : public RequestIdentityTest {
 protected:
  CallLogTest() : RequestIdentityTest(true) {}

  // The log lines of event "call" that `calls` causes, which must all be JSON.
  template <typename Calls>
  std::vector<Json> CallLines(Calls calls) {
    ::testing::internal::CaptureStderr();
    calls();
    log_ = ::testing::internal::GetCapturedStderr();
    std::vector<Json> lines;
    for (absl::string_view line : absl::StrSplit(log_, '\n', absl::SkipEmpty())) {
      absl::StatusOr<Json> parsed = ParseJson(line);
      EXPECT_TRUE(parsed.ok()) << line;
      if (parsed.ok() && (*parsed)["event"] == "call") lines.push_back(*std::move(parsed));
    }
    return lines;
  }

  std::string log_;
};

TEST_F(RequestIdentityTest, AnOkReplyCarriesTheIdInItsInitialMetadata) {
  const auto context = WithDeadline();
  context->AddMetadata("x-request-id", "A.b_c-1");
  v1::EncodeResponse response;
  ASSERT_THAT(server_.stub().Encode(context.get(), Texts({"the cat"}), &response), IsGrpcOk());
  EXPECT_THAT(IdsIn(context->GetServerInitialMetadata()), ElementsAre("A.b_c-1"));
  EXPECT_THAT(IdsIn(context->GetServerTrailingMetadata()), IsEmpty());
}

TEST_F(RequestIdentityTest, AnErrorIsTrailersOnlyAndCarriesTheIdThere) {
  const auto context = WithDeadline();
  context->AddMetadata("x-request-id", "A.b_c-1");
  v1::EncodeResponse response;
  EXPECT_THAT(server_.stub().Encode(context.get(), Texts({}), &response),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, ""));
  EXPECT_THAT(IdsIn(context->GetServerTrailingMetadata()), ElementsAre("A.b_c-1"));
  EXPECT_THAT(IdsIn(context->GetServerInitialMetadata()), IsEmpty());
}

TEST_F(RequestIdentityTest, StreamsCarryItToo) {
  {
    const auto context = WithDeadline();
    context->AddMetadata("x-request-id", "stream");
    const auto stream = server_.stub().StreamEncode(context.get());
    v1::StreamEncodeRequest request;
    request.set_text("the cat");
    v1::StreamEncodeResponse response;
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
    stream->WritesDone();
    ASSERT_THAT(stream->Finish(), IsGrpcOk());
    EXPECT_THAT(IdsIn(context->GetServerInitialMetadata()), ElementsAre("stream"));
  }
  {
    const auto context = WithDeadline();
    context->AddMetadata("x-request-id", "empty");
    const auto stream = server_.stub().StreamEncode(context.get());
    stream->WritesDone();
    ASSERT_THAT(stream->Finish(), IsGrpcOk());
    EXPECT_THAT(IdsIn(context->GetServerInitialMetadata()), ElementsAre("empty"));
  }
  {
    const auto context = WithDeadline();
    context->AddMetadata("x-request-id", "map");
    v1::StreamAttentionMapRequest request;
    request.mutable_query()->set_text("the cat");
    request.mutable_query()->add_layers(99);
    const auto stream = server_.stub().StreamAttentionMap(context.get(), request);
    v1::StreamAttentionMapResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_FALSE(stream->Finish().ok());
    EXPECT_THAT(IdsIn(context->GetServerTrailingMetadata()), ElementsAre("map"));
  }
  const auto context = WithDeadline();
  v1::HeadStatisticsResponse response;
  const auto stream = server_.stub().HeadStatistics(context.get(), &response);
  stream->WritesDone();
  EXPECT_FALSE(stream->Finish().ok());
  EXPECT_THAT(IdsIn(context->GetServerTrailingMetadata()), ElementsAre(MatchesRegex(kFreshId)));
}

TEST_F(RequestIdentityTest, BadIdsAndTraceparentsNeverFailACall) {
  for (const std::string& bad :
       {std::string("with space"), std::string(129, 'x'), std::string(2000, 'x'),
        std::string("semi;colon"), std::string("00-00000000000000000000000000000000-0-1")}) {
    const auto context = WithDeadline();
    context->AddMetadata("x-request-id", bad + "!");
    context->AddMetadata("traceparent", bad);
    v1::EncodeResponse response;
    ASSERT_THAT(server_.stub().Encode(context.get(), Texts({"the cat"}), &response), IsGrpcOk());
    EXPECT_THAT(IdsIn(context->GetServerInitialMetadata()), ElementsAre(MatchesRegex(kFreshId)));
  }
  const auto context = WithDeadline();
  context->AddMetadata("x-request-id", "one");
  context->AddMetadata("x-request-id", "two");
  v1::EncodeResponse response;
  ASSERT_THAT(server_.stub().Encode(context.get(), Texts({"the cat"}), &response), IsGrpcOk());
  EXPECT_THAT(IdsIn(context->GetServerInitialMetadata()), ElementsAre(MatchesRegex(kFreshId)));
}

TEST_F(RequestIdentityTest, HttpRepliesCarryItInAHeader) {
  const std::string json = "Content-Type: application/json\r\n";
  const auto ask = [&](const std::string& body, const std::string& headers) {
    return SendRequest(server_.server().http_port(),
                       PostRequest("/v1/encode", body, json + headers));
  };
  const std::string cat = R"({"texts": {"values": ["the cat"]}})";
  const HttpReply given = ask(cat, "X-Request-Id: my-id\r\n");
  EXPECT_EQ(given.status, 200);
  EXPECT_THAT(given.headers, Contains(Pair("x-request-id", "my-id")));
  const HttpReply error = ask("{", "X-Request-Id: my-id\r\n");
  EXPECT_EQ(error.status, 400);
  EXPECT_THAT(error.headers, Contains(Pair("x-request-id", "my-id")));
  const HttpReply bad = ask(cat, "X-Request-Id: not an id\r\ntraceparent: nonsense\r\n");
  EXPECT_EQ(bad.status, 200);
  EXPECT_THAT(bad.headers, Contains(Pair("x-request-id", MatchesRegex(kFreshId))));
}

TEST_F(CallLogTest, EachCallIsOneLineWithItsIdsAndNoText) {
  const std::vector<Json> lines = CallLines([this] {
    const auto context = WithDeadline();
    context->AddMetadata("x-request-id", "logged");
    context->AddMetadata("traceparent", kTraceparent);
    context->AddMetadata("x-secret", "hidden-value");
    v1::EncodeResponse response;
    ASSERT_THAT(server_.stub().Encode(context.get(), Texts({"the cat", "a dog"}), &response),
                IsGrpcOk());
    ASSERT_FALSE(Encode(server_.stub(), std::vector<std::string>()).status.ok());
  });
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0]["request_id"], "logged");
  EXPECT_EQ(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(lines[0]["parent_span_id"], "00f067aa0ba902b7");
  EXPECT_EQ(lines[0]["method"], "Encode");
  EXPECT_EQ(lines[0]["code"], "OK");
  EXPECT_EQ(lines[0]["texts"], 2);
  EXPECT_EQ(lines[0]["tokens"], 8);
  EXPECT_THAT(lines[0]["peer"].get<std::string>(), HasSubstr("127.0.0.1"));
  EXPECT_GT(lines[0]["compute_ms"].get<double>(), 0);
  EXPECT_GE(lines[0]["total_ms"].get<double>(), 0);
  EXPECT_EQ(lines[1]["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(lines[1]["request_id"].get<std::string>(), MatchesRegex(kFreshId));
  EXPECT_THAT(log_, Not(HasSubstr("cat")));
  EXPECT_THAT(log_, Not(HasSubstr("hidden-value")));
}

TEST_F(CallLogTest, AFloodOfCallsIsAFewLines) {
  const std::vector<Json> lines = CallLines([this] {
    for (int i = 0; i < 100; ++i) {
      ASSERT_FALSE(Encode(server_.stub(), std::vector<std::string>()).status.ok());
    }
  });
  EXPECT_FALSE(lines.empty());
  // Each line tells of those before it that are missing.
  int64_t told = 0;
  for (const Json& line : lines) told += 1 + line.value("suppressed", int64_t{0});
  EXPECT_LE(told, 100);
}

}  // namespace
}  // namespace attune
