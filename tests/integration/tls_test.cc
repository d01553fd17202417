// TLS on both ports: who gets through a handshake, and what a new certificate changes.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tls_client.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::GetRequest;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::HttpConnection;
using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::KeyPair;
using ::attune::testing::PostRequest;
using ::attune::testing::SendRequest;
using ::attune::testing::SendTlsRequest;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::attune::testing::TestAuthority;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TlsClientOptions;
using ::attune::testing::TlsConnection;

using ::testing::HasSubstr;

// For what happens within seconds; a busy machine under a sanitizer takes longer.
constexpr absl::Duration kPatience = absl::Seconds(60);

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() { WritePair(first_pair_); }

  void WritePair(const KeyPair& pair) const {
    files_.Write("cert.pem", pair.certificate);
    files_.Write("key.pem", pair.key);
  }

  ServerOptions Options() const {
    ServerOptions options = TestOptions(model_.path());
    options.http_address = "127.0.0.1:0";
    options.tls_cert = files_.Path("cert.pem");
    options.tls_key = files_.Path("key.pem");
    return options;
  }

  ServerOptions OptionsWithClientAuthority() const {
    files_.Write("clients.pem", client_authority_.certificate());
    ServerOptions options = Options();
    options.tls_client_ca = files_.Path("clients.pem");
    return options;
  }

  // A client with a connection of its own, which trusts the server's authority.
  TlsClientOptions Client(const std::optional<KeyPair>& identity = std::nullopt) const {
    return {.authority = authority_.certificate(), .identity = identity};
  }

  static std::unique_ptr<v1::EncoderService::Stub> Connect(const TestServer& server,
                                                           const TlsClientOptions& client) {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = client.authority;
    if (client.identity.has_value()) {
      tls.pem_cert_chain = client.identity->certificate;
      tls.pem_private_key = client.identity->key;
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::EncoderService::NewStub(
        grpc::CreateCustomChannel(server.address(), grpc::SslCredentials(tls), arguments));
  }

  static grpc::Status EncodeAs(const TestServer& server, const TlsClientOptions& client) {
    return Encode(*Connect(server, client), {"the cat"}).status;
  }

  std::string ServedCertificate(int port) const {
    return TlsConnection(port, Client()).server_certificate();
  }

  // Whether both ports show `certificate` within the patience of a test.
  bool WaitUntilServed(TestServer& server, const std::string& certificate) const {
    const absl::Time end = absl::Now() + kPatience;
    while (absl::Now() < end) {
      if (ServedCertificate(server.server().port()) == certificate &&
          ServedCertificate(server.server().http_port()) == certificate) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }

  static bool WaitForReloadFailures(TestServer& server, int64_t count) {
    const absl::Time end = absl::Now() + kPatience;
    while (absl::Now() < end) {
      if (server.server().guard().tls->reload_failures() >= count) return true;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }

  const TinyModel model_;
  const TempDir files_;
  const TestAuthority authority_;
  const TestAuthority client_authority_;
  const KeyPair first_pair_ = authority_.Issue();
};

TEST_F(TlsTest, BothPortsServeOverTls) {
  TestServer server(Options());
  EXPECT_THAT(EncodeAs(server, Client()), IsGrpcOk());
  const HttpReply reply =
      SendTlsRequest(server.server().http_port(), Client(),
                     PostRequest("/v1/encode", R"({"texts": {"values": ["the cat"]}})"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("embeddings"));
}

TEST_F(TlsTest, ARequestLargerThanATlsRecordIsReadWhole) {
  TestServer server(Options());
  std::string texts = "\"the cat\"";
  for (int i = 0; i < 1'000; ++i) absl::StrAppend(&texts, ", \"the cat sat on the mat ", i, "\"");
  const HttpReply reply = SendTlsRequest(
      server.server().http_port(), Client(),
      PostRequest("/v1/encode", absl::StrCat(R"({"texts": {"values": [)", texts, "]}}")));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.headers, ::testing::Contains(::testing::Pair("content-length",
                                                                 absl::StrCat(reply.body.size()))));
}

TEST_F(TlsTest, PlaintextGetsNoAnswerAndDoesNoHarm) {
  TestServer server(Options());
  EXPECT_THAT(Encode(server.stub(), {"the cat"}).status,
              GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, ""));
  EXPECT_EQ(SendRequest(server.server().http_port(), GetRequest("/livez")).status, 0);
  EXPECT_THAT(EncodeAs(server, Client()), IsGrpcOk());
}

TEST_F(TlsTest, AClientThatNeverBeginsItsHandshakeIsHungUpOn) {
  ServerOptions options = Options();
  options.http_io_timeout = absl::Milliseconds(300);
  TestServer server(options);
  HttpConnection on_grpc_port(server.server().port());
  HttpConnection on_http_port(server.server().http_port());
  // Returns once the server has closed; gRPC gives it ten seconds.
  EXPECT_EQ(on_http_port.ReadReply().status, 0);
  EXPECT_EQ(on_grpc_port.ReadReply().status, 0);
  EXPECT_THAT(EncodeAs(server, Client()), IsGrpcOk());
}

TEST_F(TlsTest, AClientDoesNotTalkToAServerOfAnotherAuthority) {
  TestServer server(Options());
  EXPECT_THAT(EncodeAs(server, {.authority = client_authority_.certificate()}),
              GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, ""));
}

TEST_F(TlsTest, VersionsBefore12AreRefused) {
  TestServer server(Options());
  for (const int port : {server.server().port(), server.server().http_port()}) {
    EXPECT_TRUE(TlsConnection(port, Client()).connected());
    EXPECT_FALSE(TlsConnection(port, {.authority = authority_.certificate(), .only_tls_1_1 = true})
                     .connected());
  }
}

TEST_F(TlsTest, AClientAuthorityLetsInWhomItSignedAndNobodyElse) {
  TestServer server(OptionsWithClientAuthority());
  const struct {
    std::string who;
    std::optional<KeyPair> identity;
    bool let_in;
  } cases[] = {
      {"signed", client_authority_.Issue(), true},
      {"without a certificate", std::nullopt, false},
      {"signed by the server's own authority", authority_.Issue(), false},
      {"signed, but expired",
       client_authority_.Issue({absl::Now() - absl::Hours(2), absl::Now() - absl::Hours(1)}),
       false},
  };
  for (const auto& client : cases) {
    SCOPED_TRACE(client.who);
    EXPECT_EQ(EncodeAs(server, Client(client.identity)).error_code(),
              client.let_in ? grpc::StatusCode::OK : grpc::StatusCode::UNAVAILABLE);
    const HttpReply reply =
        SendTlsRequest(server.server().http_port(), Client(client.identity), GetRequest("/livez"));
    EXPECT_EQ(reply.status, client.let_in ? 200 : 0);
  }
}

TEST_F(TlsTest, ANewPairIsShownToNewConnectionsAndLosesNoCall) {
  TestServer server(Options());
  const auto old_connection = Connect(server, Client());
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  grpc::Status failure;
  std::thread load([&] {
    while (!stop && failure.ok()) {
      failure = Encode(*old_connection, {"the cat"}).status;
      ++calls;
    }
  });
  const KeyPair second = authority_.Issue();
  WritePair(second);
  EXPECT_TRUE(WaitUntilServed(server, second.certificate));
  stop = true;
  load.join();
  EXPECT_THAT(failure, IsGrpcOk()) << "after " << calls << " calls";
  EXPECT_GT(calls, 0);
  EXPECT_THAT(Encode(*old_connection, {"the cat"}).status, IsGrpcOk());
  EXPECT_THAT(EncodeAs(server, Client()), IsGrpcOk());
  EXPECT_EQ(server.server().guard().tls->reload_failures(), 0);
}

TEST_F(TlsTest, APairThatCannotBeServedLeavesTheLastGoodOne) {
  TestServer server(Options());
  const KeyPair other = authority_.Issue();
  const KeyPair bad_pairs[] = {
      {other.certificate, first_pair_.key},
      authority_.Issue({absl::Now() - absl::Hours(2), absl::Now() - absl::Hours(1)}),
      {"", ""},
  };
  int64_t failures = 0;
  for (const KeyPair& pair : bad_pairs) {
    WritePair(pair);
    ASSERT_TRUE(WaitForReloadFailures(server, ++failures));
    EXPECT_TRUE(WaitUntilServed(server, first_pair_.certificate));
    EXPECT_THAT(EncodeAs(server, Client()), IsGrpcOk());
  }
  WritePair(other);
  EXPECT_TRUE(WaitUntilServed(server, other.certificate));
}

TEST_F(TlsTest, ANewClientAuthorityIsAskedOfNewConnections) {
  TestServer server(OptionsWithClientAuthority());
  const TestAuthority successor;
  const TlsClientOptions client = Client(successor.Issue());
  EXPECT_FALSE(EncodeAs(server, client).ok());
  files_.Write("clients.pem", successor.certificate());
  const absl::Time end = absl::Now() + kPatience;
  while (!EncodeAs(server, client).ok() && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_THAT(EncodeAs(server, client), IsGrpcOk());
}

TEST_F(TlsTest, AStartWithoutAUsablePairFails) {
  WritePair({first_pair_.certificate, authority_.Issue().key});
  EXPECT_THAT(Server::Bind(Options()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the key is not that of")));
}

}  // namespace
}  // namespace attune
