// The unary methods as JSON over HTTP: the same answers as over gRPC, and errors a program can
// read.

#include <google/protobuf/util/json_util.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/http/dashboard.h"
#include "tests/support/http_client.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::Get;
using ::attune::testing::GetRequest;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::Post;
using ::attune::testing::PostRequest;
using ::attune::testing::SendRequest;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

ServerOptions HttpOptions(const TinyModel& model) {
  ServerOptions options = TestOptions(model.path());
  options.http_address = "127.0.0.1:0";
  options.http_threads = 4;
  return options;
}

class HttpRpcTest : public ::testing::Test {
 protected:
  HttpRpcTest() : server_(HttpOptions(model_)) {}

  ~HttpRpcTest() override {
    // Every test ends with this: the server is alive and right.
    const std::string body = R"({"texts": {"values": ["the cat"]}})";
    EXPECT_EQ(Post(port(), "/v1/encode", body).status, 200);
  }

  int port() { return server_.server().http_port(); }

  // What `json` at `path` gives, back in its message; fails unless it is a 200.
  template <typename Response>
  Response Call(const std::string& path, const std::string& json) {
    const HttpReply reply = Post(port(), path, json);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_THAT(reply.headers, Contains(Pair("content-type", "application/json")));
    Response response;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(reply.body, &response).ok());
    return response;
  }

  TinyModel model_;
  TestServer server_;
};

MATCHER_P2(IsError, code, message_part, "") {
  *result_listener << arg.body;
  const absl::StatusOr<Json> body = ParseJson(arg.body);
  return body.ok() && body->is_object() && body->value("code", 0) == static_cast<int>(code) &&
         absl::StrContains(body->value("message", ""), message_part) &&
         body->value("details", Json()).is_array();
}

TEST_F(HttpRpcTest, EncodeGivesTheSameBitsAsGrpc) {
  const auto over_grpc = Encode(server_.stub(), {"the cat sat", "the dog"});
  ASSERT_THAT(over_grpc.status, IsGrpcOk());
  const auto over_http = Call<v1::EncodeResponse>(
      "/v1/encode", R"({"texts": {"values": ["the cat sat", "the dog"]}})");
  EXPECT_EQ(over_http.SerializeAsString(), over_grpc.response.SerializeAsString());
}

TEST_F(HttpRpcTest, AttentionMapGivesTheSameBitsAsGrpc) {
  v1::AttentionMapRequest request;
  request.mutable_query()->set_text("the cat");
  request.mutable_query()->add_layers(-1);
  request.mutable_query()->set_want_embedding(true);
  v1::AttentionMapResponse over_grpc;
  const auto context = WithDeadline();
  ASSERT_THAT(server_.stub().AttentionMap(context.get(), request, &over_grpc), IsGrpcOk());
  const auto over_http = Call<v1::AttentionMapResponse>(
      "/v1/attention-map",
      R"({"query": {"text": "the cat", "layers": [-1], "wantEmbedding": true}})");
  EXPECT_EQ(over_http.SerializeAsString(), over_grpc.SerializeAsString());
}

TEST_F(HttpRpcTest, C56ASurrogatePairIsOneCharacterAndALoneOneAnError) {
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values("cat \xf0\x9f\x91\x8d");
  v1::TokenizeResponse over_grpc;
  const auto context = WithDeadline();
  ASSERT_THAT(server_.stub().Tokenize(context.get(), request, &over_grpc), IsGrpcOk());
  const auto over_http =
      Call<v1::TokenizeResponse>("/v1/tokenize", R"({"texts": {"values": ["cat \ud83d\udc4d"]}})");
  EXPECT_EQ(over_http.SerializeAsString(), over_grpc.SerializeAsString());

  for (const std::string lone : {R"(a\ud800b)", R"(\udc4d\ud83d)", R"(\ud83d)"}) {
    const HttpReply reply = Post(port(), "/v1/encode",
                                 absl::StrCat(R"({"texts": {"values": ["cat", ")", lone, "\"]}}"));
    EXPECT_EQ(reply.status, 400) << lone;
    EXPECT_THAT(reply, IsError(grpc::StatusCode::INVALID_ARGUMENT, "surrogate")) << lone;
  }
}

TEST_F(HttpRpcTest, C56BytesThatAreNotUtf8AreAnErrorThatSaysWhere) {
  const std::string before = R"({"texts": {"values": ["cat", ")";
  // Counted from one; the first byte that cannot follow those before it.
  const std::pair<std::string, size_t> cases[] = {{"\xED\xA0\x80", 2},      // a surrogate
                                                  {"\xC0\x80", 1},          // overlong
                                                  {"\xF4\x90\x80\x80", 2},  // above U+10FFFF
                                                  {"\xE2\x82", 3},          // cut off
                                                  {"\xFF", 1}};
  for (const auto& [bytes, wrong] : cases) {
    const HttpReply reply = Post(port(), "/v1/encode", absl::StrCat(before, bytes, "\"]}}"));
    EXPECT_EQ(reply.status, 400);
    EXPECT_THAT(reply, IsError(grpc::StatusCode::INVALID_ARGUMENT,
                               absl::StrCat("not valid JSON at byte ", before.size() + wrong)));
    EXPECT_THAT(reply, IsError(grpc::StatusCode::INVALID_ARGUMENT, "ill-formed UTF-8"));
  }
}

TEST_F(HttpRpcTest, AttendTakesBothSpellingsOfAField) {
  for (const std::string field : {"givenWeights", "given_weights"}) {
    const auto response = Call<v1::AttendResponse>(
        "/v1/attend", absl::StrCat(R"({"vectors": {"rows": 2, "cols": 1, "values": [1, 2]}, ")",
                                   field, R"(": {"rows": 2, "cols": 2, "values": [0, 1, 1, 0]}})"));
    ASSERT_EQ(response.outputs().values_size(), 2);
    EXPECT_EQ(response.outputs().values(0), 2.0f);
    EXPECT_EQ(response.outputs().values(1), 1.0f);
  }
}

TEST_F(HttpRpcTest, TokenizeKeepsUnicodeAndNamesFieldsWithDefaultValues) {
  const HttpReply reply =
      Post(port(), "/v1/tokenize", "{\"texts\": {\"values\": [\"caf\u00e9 \\u732b\"]}}");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr(R"("byteBegin":0)"));
  EXPECT_THAT(reply.body, HasSubstr(R"("special":false)"));
}

TEST_F(HttpRpcTest, TheModelIsThereForGetAndPost) {
  const HttpReply get = Get(port(), "/v1/model");
  EXPECT_EQ(get.status, 200);
  EXPECT_EQ(Post(port(), "/v1/model", "{}").body, get.body);
  EXPECT_EQ(SendRequest(port(), "HEAD /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
}

TEST_F(HttpRpcTest, WhatIsNotBuiltIs501AndNamed) {
  const HttpReply reply =
      Post(port(), "/v1/encode", R"({"texts": {"values": ["cat"]}, "options": {"dimensions": 8}})");
  EXPECT_EQ(reply.status, 501);
  EXPECT_THAT(reply, IsError(absl::StatusCode::kUnimplemented, "options.dimensions"));
}

TEST_F(HttpRpcTest, BadBodiesAreRefusedByName) {
  struct Case {
    std::string body;
    std::string message_part;
  };
  const std::string deep(10'000, '[');
  const Case cases[] = {
      {"", "not valid JSON at byte"},
      {"{", "not valid JSON at byte"},
      {"[]", "must be a JSON object"},
      {R"({"texts": {"values": ["a"]}} x)", "not valid JSON at byte"},
      {R"({texts: {}})", "not valid JSON at byte"},
      {R"({'texts': {}})", "not valid JSON at byte"},
      {R"({"texts": {"values": ["a"]}, "texts": {"values": ["b"]}})", "duplicate key"},
      {R"({"texts": {"values": ["a"], "valeus": []}})", "valeus"},
      {R"({"texts": 5})", "EncodeRequest"},
      {R"({"texts": {"values": [NaN]}})", "not valid JSON at byte"},
      {R"({"options": {"pooling": "POOLING_BEST"}})", "POOLING_BEST"},
      {R"({"texts": )" + deep, "nested deeper than 64 levels"},
      {R"({"texts": {"values": [")" + std::string("\xff") + R"("]}})", "not valid JSON at byte"},
      {std::string("{\"texts\": {}}\0", 14), "a NUL"},
      {R"({"texts": {"values": ["\ud800"]}})", "not valid JSON at byte"},
      {R"({"tokenIds": {"values": [{"values": [-1]}]}})", "EncodeRequest"},
      {R"({"tokenIds": {"values": [{"values": [1e99]}]}})", "EncodeRequest"},
      {"{}", "input is not set"},
      {R"({"texts": {"values": []}})", "texts.values is empty"},
  };
  for (const Case& bad : cases) {
    const HttpReply reply = Post(port(), "/v1/encode", bad.body);
    EXPECT_EQ(reply.status, 400) << bad.body;
    EXPECT_THAT(reply, IsError(absl::StatusCode::kInvalidArgument, bad.message_part)) << bad.body;
    EXPECT_LT(reply.body.size(), 4096u) << bad.body;
  }
}

TEST_F(HttpRpcTest, NotANumberIsRefusedWhereverItHides) {
  for (const std::string value : {"\"NaN\"", "\"Infinity\"", "1e999"}) {
    const HttpReply reply =
        Post(port(), "/v1/attend",
             absl::StrCat(R"({"vectors": {"rows": 1, "cols": 1, "values": [)", value, "]}}"));
    EXPECT_EQ(reply.status, 400) << value << reply.body;
  }
}

// A header line of so many bytes.
std::string HeaderOf(size_t bytes) { return "X:" + std::string(bytes - 4, 'a') + "\r\n"; }

std::string Repeated(const std::string& header, int times) {
  std::string headers;
  for (int i = 0; i < times; ++i) headers += header;
  return headers;
}

TEST_F(HttpRpcTest, HeadersUpToTheirLimitsAreTaken) {
  // With a method, a version and the end of the line 8192 bytes; there is nothing at this path.
  EXPECT_EQ(SendRequest(port(), GetRequest("/" + std::string(8176, 'a'))).status, 404);
  EXPECT_EQ(SendRequest(port(), GetRequest("/v1/model", HeaderOf(8192))).status, 200);
  EXPECT_EQ(SendRequest(port(), GetRequest("/v1/model", Repeated(HeaderOf(500), 90))).status, 200);
}

TEST_F(HttpRpcTest, BadRequestsAreRefusedBeforeTheirBodiesAreRead) {
  const std::string json = "Content-Type: application/json\r\n";
  struct Case {
    std::string request;
    int status;
    absl::StatusCode code;
    std::string message_part;
  };
  const std::string post = "POST /v1/encode HTTP/1.1\r\nHost: localhost\r\n";
  const Case cases[] = {
      {GetRequest("/nothing"), 404, absl::StatusCode::kUnimplemented, "nothing at this path"},
      {GetRequest("/v1/../v1/model"), 404, absl::StatusCode::kUnimplemented, "nothing"},
      {GetRequest("/v1/encode"), 405, absl::StatusCode::kUnimplemented, "takes POST"},
      {PostRequest("/livez", "{}"), 405, absl::StatusCode::kUnimplemented, "takes GET"},
      {"DELETE /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n", 405,
       absl::StatusCode::kUnimplemented, "takes GET"},
      {post + json + "Content-Length: 5000000\r\n\r\n", 413, absl::StatusCode::kResourceExhausted,
       "5000000 bytes; the limit is 4194304"},
      {post + json + "\r\n", 411, absl::StatusCode::kInvalidArgument, "Content-Length"},
      {post + json + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411,
       absl::StatusCode::kInvalidArgument, "chunked"},
      {post + json + "Content-Length: -2\r\n\r\n{}", 400, absl::StatusCode::kInvalidArgument,
       "Content-Length"},
      {post + json + "Content-Length: 99999999999999999999\r\n\r\n{}", 400,
       absl::StatusCode::kInvalidArgument, "Content-Length"},
      {post + json + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400,
       absl::StatusCode::kInvalidArgument, "Content-Length"},
      {PostRequest("/v1/encode", "{}", json + "Content-Encoding: gzip\r\n"), 415,
       absl::StatusCode::kInvalidArgument, "Content-Encoding"},
      {PostRequest("/v1/encode", "{}", "Content-Type: text/plain\r\n"), 415,
       absl::StatusCode::kInvalidArgument, "must be application/json"},
      {PostRequest("/v1/encode", "{}", "Content-Type: multipart/form-data; boundary=x\r\n"), 415,
       absl::StatusCode::kInvalidArgument, "must be application/json"},
      {PostRequest("/v1/encode", "{}", ""), 415, absl::StatusCode::kInvalidArgument, "must be"},
      {GetRequest("/v1/model", "Content-Length: 2\r\n") + "{}", 400,
       absl::StatusCode::kInvalidArgument, "has no body"},
      {"nonsense\r\n\r\n", 400, absl::StatusCode::kInvalidArgument, "not well-formed"},
      {GetRequest("/" + std::string(8192, 'a')), 414, absl::StatusCode::kInvalidArgument,
       "more than 8192 bytes"},
      {GetRequest("/" + std::string(100'000, 'a')), 414, absl::StatusCode::kInvalidArgument,
       "more than 8192 bytes"},
      {GetRequest("/v1/model", HeaderOf(8193)), 431, absl::StatusCode::kResourceExhausted,
       "a header has more than 8192 bytes"},
      {GetRequest("/v1/model", HeaderOf(100'000)), 431, absl::StatusCode::kResourceExhausted,
       "a header has more than 8192 bytes"},
      {GetRequest("/v1/model", Repeated(HeaderOf(8192), 8)), 431,
       absl::StatusCode::kResourceExhausted, "the headers have more than 65536 bytes"},
      {GetRequest("/v1/model", Repeated(HeaderOf(5), 101)), 431,
       absl::StatusCode::kResourceExhausted, "more than 100 headers"},
  };
  for (const Case& bad : cases) {
    const HttpReply reply = SendRequest(port(), bad.request);
    EXPECT_EQ(reply.status, bad.status) << bad.request.substr(0, 200);
    EXPECT_THAT(reply, IsError(bad.code, bad.message_part)) << bad.request.substr(0, 200);
  }
}

TEST_F(HttpRpcTest, OtherNamesThanLoopbackAreRefused) {
  for (const std::string host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil:8080",
                                 "192.168.0.1", "", "local host", "[::2]"}) {
    const HttpReply reply =
        SendRequest(port(), absl::StrCat("GET /v1/model HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
    EXPECT_EQ(reply.status, 421) << host;
    EXPECT_THAT(reply, IsError(absl::StatusCode::kInvalidArgument, "the Host header is")) << host;
  }
  for (const std::string host : {"LOCALHOST", "127.0.0.1:1", "[::1]:8080", "attune.localhost"}) {
    EXPECT_EQ(
        SendRequest(port(), absl::StrCat("GET /v1/model HTTP/1.1\r\nHost: ", host, "\r\n\r\n"))
            .status,
        200)
        << host;
  }
}

TEST_F(HttpRpcTest, OtherSitesGetNoPermission) {
  const std::string origin =
      "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
  for (const std::string& request :
       {"OPTIONS /v1/encode HTTP/1.1\r\nHost: localhost\r\n" + origin + "\r\n",
        GetRequest("/v1/model", origin)}) {
    const HttpReply reply = SendRequest(port(), request);
    EXPECT_THAT(reply.headers, Not(Contains(Key("access-control-allow-origin")))) << request;
    EXPECT_THAT(reply.headers, Not(Contains(Key("access-control-allow-methods")))) << request;
  }
}

TEST_F(HttpRpcTest, EveryReplyCarriesTheSecurityHeaders) {
  for (const std::string path : {"/v1/model", "/livez", "/nothing"}) {
    const HttpReply reply = Get(port(), path);
    EXPECT_THAT(reply.headers, Contains(Pair("x-content-type-options", "nosniff"))) << path;
    EXPECT_THAT(
        reply.headers,
        Contains(Pair("content-security-policy",
                      AllOf(HasSubstr("default-src 'none'"), HasSubstr("frame-ancestors 'none'")))))
        << path;
    EXPECT_THAT(reply.headers, Contains(Pair("connection", "close"))) << path;
    EXPECT_THAT(reply.headers, Contains(Pair("referrer-policy", "no-referrer"))) << path;
    EXPECT_THAT(reply.headers, Contains(Pair("x-frame-options", "DENY"))) << path;
    // What runs here, and what went wrong inside it, is nobody's business.
    EXPECT_THAT(reply.headers, Not(Contains(Key("server")))) << path;
    EXPECT_THAT(reply.headers, Not(Contains(Key("exception_what")))) << path;
  }
}

TEST_F(HttpRpcTest, TheDashboardIsServedWhole) {
  size_t bytes = 0;
  for (const DashboardFile& file : DashboardFiles()) {
    const HttpReply reply = Get(port(), std::string(file.path));
    EXPECT_EQ(reply.status, 200) << file.path;
    EXPECT_EQ(reply.body, file.bytes) << file.path;
    EXPECT_THAT(reply.headers, Contains(Pair("content-type", std::string(file.content_type))));
    bytes += file.bytes.size();
  }
  EXPECT_NE(FindDashboardFile("/"), nullptr);
  EXPECT_LE(bytes, 250'000u);
  EXPECT_EQ(Post(port(), "/", "{}").status, 405);
}

TEST_F(HttpRpcTest, RepliesAreNeitherCompressedNorCut) {
  const HttpReply whole = Get(port(), "/v1/model");
  const HttpReply reply = SendRequest(
      port(), GetRequest("/v1/model", "Accept-Encoding: gzip, br\r\nRange: bytes=0-1,0-1\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, whole.body);
}

TEST_F(HttpRpcTest, MoreClientsThanThreadsAreAllServed) {
  const std::string body = R"({"texts": {"values": ["the cat sat", "the dog"]}})";
  const std::string expected = Post(port(), "/v1/encode", body).body;
  std::vector<std::thread> clients;
  for (int c = 0; c < 12; ++c) {
    clients.emplace_back([&] {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(Post(port(), "/v1/encode", body).body, expected);
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(HttpRpcTest, ExpectContinueIsAnswered) {
  const std::string body = R"({"texts": {"values": ["the cat"]}})";
  EXPECT_EQ(SendRequest(port(), PostRequest("/v1/encode", body,
                                            "Content-Type: application/json; charset=utf-8\r\n"
                                            "Expect: 100-continue\r\n"))
                .status,
            200);
}

}  // namespace
}  // namespace attune
