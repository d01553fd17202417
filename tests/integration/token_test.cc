// Bearer tokens on both ports: what is open, what is refused, and how tokens come and go.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/metrics_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::CallRaw;
using ::attune::testing::Get;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::ParseMetrics;
using ::attune::testing::PostRequest;
using ::attune::testing::SendRequest;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr char kToken[] = "the-right-token";
constexpr char kWrong[] = "some-wrong-token";
constexpr char kEncodeMethod[] = "/attune.v1.EncoderService/Encode";

std::string Line(const std::string& name, const std::string& token) {
  return absl::StrCat(name, ":", Sha256Hex(token), "\n");
}

class TokenTest : public ::testing::Test {
 protected:
  TokenTest() : server_(Options()) {}

  ServerOptions Options() const {
    files_.Write("tokens", Line("alice", kToken));
    ServerOptions options = TestOptions(model_.path());
    options.http_address = "127.0.0.1:0";
    options.ops_address = "127.0.0.1:0";
    options.token_file = files_.Path("tokens");
    return options;
  }

  grpc::Status EncodeWith(const std::string& token) {
    const auto context = WithDeadline();
    context->AddMetadata("authorization", absl::StrCat("Bearer ", token));
    v1::EncodeRequest request;
    request.mutable_texts()->add_values("the cat");
    v1::EncodeResponse response;
    return server_.stub().Encode(context.get(), request, &response);
  }

  HttpReply Encode(const std::string& headers) {
    return SendRequest(server_.server().http_port(),
                       PostRequest("/v1/encode", R"({"texts": {"values": ["the cat"]}})",
                                   absl::StrCat("Content-Type: application/json\r\n", headers)));
  }

  // Whether `token` comes to be accepted, or refused, within the patience of a test.
  bool WaitUntil(const std::string& token, bool accepted) {
    const absl::Time end = absl::Now() + kPatience;
    while (absl::Now() < end) {
      if (EncodeWith(token).ok() == accepted) return true;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }

  const TinyModel model_;
  const TempDir files_;
  TestServer server_;
};

TEST_F(TokenTest, TheRightTokenIsServed) {
  EXPECT_THAT(EncodeWith(kToken), IsGrpcOk());
  EXPECT_EQ(Encode(absl::StrCat("Authorization: Bearer ", kToken, "\r\n")).status, 200);
  EXPECT_EQ(Encode(absl::StrCat("authorization: bearer ", kToken, "\r\n")).status, 200);
}

TEST_F(TokenTest, AnythingElseIsUnauthenticatedAndNotEchoed) {
  const std::string right = absl::StrCat("Bearer ", kToken);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "carries no token"},
      {{absl::StrCat("Bearer ", kWrong)}, "is not one of this server's"},
      {{right, right}, "several authorization headers"},
      {{right, absl::StrCat("Bearer ", kWrong)}, "several authorization headers"},
      {{kToken}, "is not a bearer token"},
      {{absl::StrCat("Basic ", kToken)}, "is not a bearer token"},
      {{absl::StrCat(right, "x")}, "is not one of this server's"},
      {{"Bearer "}, "token"},
      {{absl::StrCat("Bearer ", Sha256Hex(kToken))}, "is not one of this server's"},
  };
  int64_t failures = 0;
  for (const auto& [authorization, message] : cases) {
    SCOPED_TRACE(message);
    const grpc::Status status = CallRaw(server_, kEncodeMethod, "", authorization);
    EXPECT_THAT(status, GrpcStatusIs(grpc::StatusCode::UNAUTHENTICATED, message));
    EXPECT_THAT(status.error_message(), AllOf(Not(HasSubstr(kToken)), Not(HasSubstr(kWrong))));
    EXPECT_EQ(server_.server().guard().authenticator->failures(), ++failures);

    std::string headers;
    for (const std::string& value : authorization) {
      absl::StrAppend(&headers, "Authorization: ", value, "\r\n");
    }
    const HttpReply reply = Encode(headers);
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(reply.headers.at("www-authenticate"), "Bearer realm=\"attune\"");
    EXPECT_THAT(reply.body,
                AllOf(HasSubstr("\"code\":16"), Not(HasSubstr(kToken)), Not(HasSubstr(kWrong))));
    EXPECT_EQ(server_.server().guard().authenticator->failures(), ++failures);
  }
}

TEST_F(TokenTest, EveryMethodAsksForTheTokenStreamsReflectionAndUnknownOnesToo) {
  for (const std::string& method :
       {std::string(kEncodeMethod), std::string("/attune.v1.EncoderService/GetModel"),
        std::string("/attune.v1.EncoderService/StreamEncode"),
        std::string("/attune.v1.EncoderService/StreamAttentionMap"),
        std::string("/attune.v1.EncoderService/HeadStatistics"),
        std::string("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"),
        std::string("/no.such.Service/Method"), std::string("/grpc.health.v1.HealthX/Check")}) {
    EXPECT_THAT(CallRaw(server_, method), GrpcStatusIs(grpc::StatusCode::UNAUTHENTICATED, "token"))
        << method;
  }
  EXPECT_THAT(CallRaw(server_, "/no.such.Service/Method", "", {absl::StrCat("Bearer ", kToken)}),
              GrpcStatusIs(grpc::StatusCode::UNIMPLEMENTED, ""));
  EXPECT_NE(CallRaw(server_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "",
                    {absl::StrCat("Bearer ", kToken)})
                .error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(TokenTest, HealthProbesAndThePageAreOpen) {
  EXPECT_THAT(CallRaw(server_, "/grpc.health.v1.Health/Check"), IsGrpcOk());
  const int port = server_.server().http_port();
  for (const char* path : {"/livez", "/readyz", "/", "/main.js"}) {
    EXPECT_EQ(Get(port, path).status, 200) << path;
  }
  for (const char* path : {"/v1/model", "/no/such/path"}) {
    EXPECT_EQ(Get(port, path).status, 401) << path;
  }
}

TEST_F(TokenTest, TheOperatorSeesHowManyWereRefused) {
  EXPECT_THAT(EncodeWith(kToken), IsGrpcOk());
  EXPECT_FALSE(EncodeWith(kWrong).ok());
  EXPECT_EQ(Encode("").status, 401);
  const HttpReply metrics = Get(server_.server().ops_port(), "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(ParseMetrics(metrics.body).at("attune_auth_failures_total"), 2);
}

TEST_F(TokenTest, TokensComeAndGoWithTheirLines) {
  files_.Write("tokens", Line("alice", kToken) + Line("bob", "bobs-token"));
  EXPECT_TRUE(WaitUntil("bobs-token", true));
  EXPECT_THAT(EncodeWith(kToken), IsGrpcOk());
  files_.Write("tokens", Line("bob", "bobs-token"));
  EXPECT_TRUE(WaitUntil(kToken, false));
  EXPECT_THAT(EncodeWith("bobs-token"), IsGrpcOk());
}

TEST_F(TokenTest, AFileThatIsWrongLeavesTheTokensAsTheyWere) {
  files_.Write("tokens", "alice:not-a-digest\n");
  const absl::Time end = absl::Now() + kPatience;
  while (server_.server().guard().authenticator->reload_failures() == 0 && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(server_.server().guard().authenticator->reload_failures(), 1);
  EXPECT_THAT(EncodeWith(kToken), IsGrpcOk());
  EXPECT_THAT(EncodeWith(kWrong), GrpcStatusIs(grpc::StatusCode::UNAUTHENTICATED, "token"));
}

TEST_F(TokenTest, AStartWithoutTokensInTheFileFails) {
  files_.Write("empty", "# nobody yet\n");
  ServerOptions options = Options();
  options.token_file = files_.Path("empty");
  EXPECT_THAT(Server::Bind(options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--token-file"), HasSubstr("it has no token"))));
}

}  // namespace
}  // namespace attune
