// The client library against a scripted server.
#include "client/client.h"

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/client/fake_server.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::FakeServer;
using ::attune::testing::IsOk;
using ::attune::testing::IsOkAndHolds;
using ::attune::testing::StatusIs;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kPushbackKey = "grpc-retry-pushback-ms";
// Nothing listens on the first port of all.
constexpr auto kDeadAddress = "127.0.0.1:1";

std::unique_ptr<Client> Connect(ClientOptions options) {
  auto client = Client::Create(options);
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

std::unique_ptr<Client> Connect(const FakeServer& server) {
  return Connect(ClientOptions{.address = server.address()});
}

TEST(ClientTest, EncodesTextsInOrder) {
  FakeServer server;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeResult result,
                              Connect(server)->Encode({"a", "bb", "", "cccc"}));
  ASSERT_EQ(result.embeddings.size(), 4u);
  EXPECT_EQ(result.dimension, 4u);
  EXPECT_EQ(result.model, "fake");
  EXPECT_THAT(result.embeddings[0].values, ElementsAre(1, 'a', 1, 0));
  EXPECT_THAT(result.embeddings[3].values, ElementsAre(4, 'c', 1, 0));
  EXPECT_EQ(result.embeddings[3].tokens, 4u);
}

TEST(ClientTest, EncodesPairs) {
  FakeServer server;
  const std::vector<TextPair> pairs = {{"ab", "cde"}, {"", "x"}};
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeResult result, Connect(server)->EncodePairs(pairs));
  ASSERT_EQ(result.embeddings.size(), 2u);
  EXPECT_EQ(result.embeddings[0].tokens, 5u);
  EXPECT_EQ(result.embeddings[1].tokens, 1u);
  EXPECT_THAT(Connect(server)->EncodePairs({pairs[0], {"a", "b\xff"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("text_pairs.values[1].second is not UTF-8")));
}

TEST(ClientTest, EncodesTokenIds) {
  FakeServer server;
  const TokenIdList ids = {101, 7592, 102};
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeResult result, Connect(server)->EncodeTokenIds({ids}));
  EXPECT_THAT(result.embeddings[0].values, ElementsAre(3, 101, 1, 0));
}

TEST(ClientTest, PassesOptionsAndTellsWhatWasCut) {
  FakeServer server;
  v1::EncodeOptions options;
  options.set_max_tokens(2);
  options.set_pooling(v1::POOLING_NONE);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeResult result,
                              Connect(server)->Encode({"abc", "a"}, options));
  EXPECT_TRUE(result.embeddings[0].truncated);
  EXPECT_EQ(result.embeddings[0].values.size(), 2 * result.dimension);
  EXPECT_FALSE(result.embeddings[1].truncated);
}

TEST(ClientTest, EveryCallHasADeadline) {
  FakeServer server;
  server.encoder().attend_response.mutable_outputs()->set_rows(1);
  const auto client = Connect(server);
  EXPECT_THAT(client->Encode({"a"}), IsOk());
  EXPECT_THAT(client->EncodeTokenIds({{1}}), IsOk());
  EXPECT_THAT(client->AttentionMap({}), IsOk());
  EXPECT_THAT(client->StreamAttentionMap({}), IsOk());
  EXPECT_THAT(client->Attend({}), IsOk());
  EXPECT_THAT(client->Tokenize({}), IsOk());
  EXPECT_THAT(client->GetModel(), IsOk());
  EXPECT_THAT(client->CheckHealth(), IsOk());
  bool more = true;
  EXPECT_THAT(client->EncodeAll(
                  [&more]() -> absl::StatusOr<std::optional<EncodeInput>> {
                    if (!std::exchange(more, false)) return std::nullopt;
                    return EncodeInput("a");
                  },
                  [](EncodedItem) { return absl::OkStatus(); }),
              IsOk());
  const auto calls = server.encoder().calls();
  EXPECT_EQ(calls.size(), 9u);  // EncodeAll also asks for the model
  for (const auto& call : calls) EXPECT_TRUE(call.has_deadline) << call.method;
  EXPECT_TRUE(server.health().saw_deadline());
}

TEST(ClientTest, GivesUpAtTheDeadline) {
  FakeServer server;
  server.encoder().encode = [](grpc::ServerContext& context, const v1::EncodeRequest&,
                               v1::EncodeResponse&) {
    // Outlasts its caller, but not by long.
    while (!context.IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  const auto client =
      Connect(ClientOptions{.address = server.address(), .deadline = absl::Milliseconds(100)});
  EXPECT_THAT(client->Encode({"a"}), StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::_));
}

// A server that fails `failures` times with `code`, then answers.
FakeEncoder::EncodeFunction FailFirst(std::atomic<int>& attempts, int failures,
                                      grpc::StatusCode code, const std::string& pushback) {
  return [&attempts, failures, code, pushback](grpc::ServerContext& context,
                                               const v1::EncodeRequest& request,
                                               v1::EncodeResponse& response) {
    if (attempts++ >= failures) return FakeEncoder::DefaultEncode(request, response);
    if (!pushback.empty()) context.AddTrailingMetadata(kPushbackKey, pushback);
    return grpc::Status(code, "not now");
  };
}

TEST(ClientRetryTest, TriesUnavailableAndResourceExhaustedAgain) {
  for (const auto code : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    FakeServer server;
    std::atomic<int> attempts = 0;
    server.encoder().encode = FailFirst(attempts, 3, code, "1");
    EXPECT_THAT(Connect(server)->Encode({"a"}), IsOk());
    EXPECT_EQ(attempts, 4);
  }
}

TEST(ClientRetryTest, StopsAtMaxAttempts) {
  FakeServer server;
  std::atomic<int> attempts = 0;
  server.encoder().encode = FailFirst(attempts, 100, grpc::StatusCode::UNAVAILABLE, "1");
  const ClientOptions options{.address = server.address(), .max_attempts = 3};
  EXPECT_THAT(Connect(options)->Encode({"a"}), StatusIs(absl::StatusCode::kUnavailable, "not now"));
  EXPECT_EQ(attempts, 3);
}

TEST(ClientRetryTest, OneAttemptMeansNoRetry) {
  FakeServer server;
  std::atomic<int> attempts = 0;
  server.encoder().encode = FailFirst(attempts, 1, grpc::StatusCode::UNAVAILABLE, "1");
  const ClientOptions options{.address = server.address(), .max_attempts = 1};
  EXPECT_THAT(Connect(options)->Encode({"a"}), StatusIs(absl::StatusCode::kUnavailable, "not now"));
  EXPECT_EQ(attempts, 1);
}

TEST(ClientRetryTest, DoesNotRepeatWhatCannotSucceed) {
  FakeServer server;
  std::atomic<int> attempts = 0;
  server.encoder().encode = FailFirst(attempts, 1, grpc::StatusCode::INVALID_ARGUMENT, "");
  EXPECT_THAT(Connect(server)->Encode({"a"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "not now"));
  EXPECT_EQ(attempts, 1);
}

TEST(ClientRetryTest, WaitsAsLongAsTheServerAsks) {
  FakeServer server;
  std::atomic<int> attempts = 0;
  // Far above the 0.1 s of the client's own first back-off.
  server.encoder().encode = FailFirst(attempts, 1, grpc::StatusCode::RESOURCE_EXHAUSTED, "600");
  const absl::Time start = absl::Now();
  EXPECT_THAT(Connect(server)->Encode({"a"}), IsOk());
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(600));
  EXPECT_EQ(attempts, 2);
}

TEST(ClientRetryTest, DoesNotRetryWhenTheServerForbidsIt) {
  FakeServer server;
  std::atomic<int> attempts = 0;
  server.encoder().encode = FailFirst(attempts, 1, grpc::StatusCode::RESOURCE_EXHAUSTED, "-1");
  EXPECT_THAT(Connect(server)->Encode({"a"}),
              StatusIs(absl::StatusCode::kResourceExhausted, "not now"));
  EXPECT_EQ(attempts, 1);
}

TEST(ClientRetryTest, RetriesRequestsOfOverAMegabyte) {
  FakeServer server;
  std::atomic<int> attempts = 0;
  server.encoder().encode = FailFirst(attempts, 1, grpc::StatusCode::UNAVAILABLE, "1");
  EXPECT_THAT(Connect(server)->Encode({std::string(2 << 20, 'x')}), IsOk());
  EXPECT_EQ(attempts, 2);
}

TEST(ClientTest, SendsTheExpectedDimensionSoThatTheServerCanRefuseEarly) {
  FakeServer server;
  uint32_t seen = 0;
  server.encoder().encode = [&seen](grpc::ServerContext&, const v1::EncodeRequest& request,
                                    v1::EncodeResponse&) {
    seen = request.options().expected_dimension();
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "model m gives 4, caller expects 8");
  };
  const ClientOptions options{.address = server.address(), .expected_dimension = 8};
  EXPECT_THAT(Connect(options)->Encode({"a"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("caller expects 8")));
  EXPECT_EQ(seen, 8u);
}

TEST(ClientTest, RefusesVectorsOfAnotherDimensionEvenIfTheServerDidNot) {
  FakeServer server;
  const ClientOptions options{.address = server.address(), .expected_dimension = 8};
  EXPECT_THAT(Connect(options)->Encode({"a"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "model fake gives dimension 4, the caller expects 8"));
}

TEST(ClientTest, RefusesTextThatIsNotUtf8BeforeSendingIt) {
  FakeServer server;
  const auto client = Connect(server);
  const auto names_text_and_byte =
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("texts.values[1] is not UTF-8: byte 0xe2 at offset 2"));
  EXPECT_THAT(client->Encode({"fine", "ab\xE2\x82"}), names_text_and_byte);
  v1::TokenizeRequest tokenize;
  tokenize.mutable_texts()->add_values("fine");
  tokenize.mutable_texts()->add_values("ab\xE2\x82");
  EXPECT_THAT(client->Tokenize(tokenize), names_text_and_byte);
  v1::AttentionQuery query;
  query.set_text("\xED\xA0\x80");
  EXPECT_THAT(client->AttentionMap(query),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.text is not UTF-8")));
  EXPECT_THAT(server.encoder().calls(), ::testing::IsEmpty());
}

TEST(ClientTest, RefusesAReplyThatDoesNotFitItsRequest) {
  FakeServer server;
  server.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest&,
                               v1::EncodeResponse& response) {
    response.set_dimension(4);
    response.add_embeddings()->add_values(1);
    return grpc::Status::OK;
  };
  const auto client = Connect(server);
  EXPECT_THAT(client->Encode({"a", "b"}),
              StatusIs(absl::StatusCode::kInternal, "the server sent 1 embeddings for 2 inputs"));
  EXPECT_THAT(client->Encode({"a"}),
              StatusIs(absl::StatusCode::kInternal, "embedding 0 has 1 values, expected 4"));
}

TEST(ClientTest, TakesRepliesUpToItsOwnLimit) {
  FakeServer server;
  server.encoder().attention = [](const v1::AttentionMapRequest&,
                                  v1::AttentionMapResponse& response) {
    response.set_data(std::string(8 << 20, 'x'));  // twice gRPC's default limit
    return grpc::Status::OK;
  };
  EXPECT_THAT(Connect(server)->AttentionMap({}), IsOk());
  const ClientOptions small{.address = server.address(), .max_receive_bytes = 1 << 20};
  EXPECT_THAT(Connect(small)->AttentionMap({}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("larger than max")));
}

TEST(ClientTest, SaysWhenThereIsNoServer) {
  const auto client = Connect(ClientOptions{.address = kDeadAddress, .max_attempts = 1});
  EXPECT_THAT(client->GetModel(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(client->CheckHealth(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
}

TEST(ClientTest, BalancesOverTheServersThatAreServing) {
  FakeServer first, second, draining;
  draining.health().SetState(HealthCheckResponse::NOT_SERVING);
  const auto client = Connect(ClientOptions{
      .address = absl::StrCat(first.address(), ",", second.address(), ",", draining.address())});
  ASSERT_THAT(client->Encode({"a"}), IsOk());
  // Until all three have reported, everything may go to the first that is ready.
  draining.health().AwaitWatcher();
  first.health().AwaitWatcher();
  second.health().AwaitWatcher();
  while (first.encoder().calls().empty() || second.encoder().calls().empty()) {
    ASSERT_THAT(client->Encode({"a"}), IsOk());
  }
  EXPECT_THAT(draining.encoder().calls(), ::testing::IsEmpty());
}

TEST(ClientTest, WorksWithAServerThatHasNoHealthService) {
  FakeServer server(/*with_health=*/false);
  EXPECT_THAT(Connect(server)->Encode({"a"}), IsOk());
}

TEST(ClientHealthTest, ReportsTheStateAlsoWhenNotServing) {
  FakeServer server;
  const auto client = Connect(server);
  EXPECT_THAT(client->CheckHealth(), IsOkAndHolds(HealthCheckResponse::SERVING));
  server.health().SetState(HealthCheckResponse::NOT_SERVING);
  EXPECT_THAT(client->CheckHealth(), IsOkAndHolds(HealthCheckResponse::NOT_SERVING));
}

TEST(ClientHealthTest, WaitReturnsAsSoonAsTheServerIsServing) {
  FakeServer server;
  server.health().SetState(HealthCheckResponse::NOT_SERVING);
  const auto client = Connect(server);
  std::thread operator_thread([&server] {
    server.health().AwaitWatcher();
    server.health().SetState(HealthCheckResponse::SERVING);
  });
  EXPECT_THAT(client->WaitUntilServing(absl::Seconds(30)), IsOk());
  operator_thread.join();
}

TEST(ClientHealthTest, WaitEndsAtItsBoundWithTheLastState) {
  FakeServer server;
  server.health().SetState(HealthCheckResponse::NOT_SERVING);
  EXPECT_THAT(Connect(server)->WaitUntilServing(absl::Milliseconds(300)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "not SERVING after 300ms (last state: NOT_SERVING)"));
}

TEST(ClientHealthTest, WaitEndsAtItsBoundWithoutAServer) {
  const auto client = Connect(ClientOptions{.address = kDeadAddress});
  EXPECT_THAT(client->WaitUntilServing(absl::Milliseconds(300)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no answer")));
}

TEST(ClientHealthTest, WaitDoesNotRepeatWhatCannotSucceed) {
  FakeServer server(/*with_health=*/false);
  EXPECT_THAT(Connect(server)->WaitUntilServing(absl::Seconds(30)),
              StatusIs(absl::StatusCode::kUnimplemented, ::testing::_));
}

}  // namespace
}  // namespace attune
