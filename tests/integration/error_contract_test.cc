// What a program can read in an error: the same details over gRPC and over HTTP, and a delay
// exactly where trying again helps.

#include <google/protobuf/util/json_util.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "server/retry_delay.h"
#include "tests/support/http_client.h"
#include "tests/support/slow_model.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::HttpReply;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::IsOk;
using ::attune::testing::Post;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TextOf512Tokens;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::google::rpc::BadRequest;
using ::google::rpc::ErrorInfo;
using ::google::rpc::QuotaFailure;
using ::google::rpc::RetryInfo;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// An error as a client sees it, over either transport.
struct Failure {
  google::rpc::Status status;
  // What tells libraries that retry by themselves: the gRPC trailer, or the header in milliseconds.
  std::optional<int64_t> retry_ms;
};

template <typename Detail>
std::optional<Detail> Find(const google::rpc::Status& status) {
  Detail detail;
  for (const google::protobuf::Any& any : status.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

std::string Reason(const google::rpc::Status& status) {
  return Find<ErrorInfo>(status).value_or(ErrorInfo()).reason();
}

Failure FailureOf(const grpc::Status& status, const grpc::ClientContext& context) {
  Failure failure;
  failure.status.set_code(status.error_code());
  failure.status.set_message(status.error_message());
  if (!status.error_details().empty()) {
    EXPECT_TRUE(failure.status.ParseFromString(status.error_details()));
    EXPECT_EQ(failure.status.code(), status.error_code());
    EXPECT_EQ(failure.status.message(), status.error_message());
  }
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto pushback = trailers.find("grpc-retry-pushback-ms");
  if (pushback != trailers.end()) {
    int64_t ms = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(absl::string_view(pushback->second.data(), pushback->second.size()), &ms));
    failure.retry_ms = ms;
  }
  return failure;
}

Failure OverGrpc(const TestServer& server, const v1::EncodeRequest& request) {
  const auto stub = v1::EncoderService::NewStub(server.NewChannel());
  const auto context = WithDeadline();
  v1::EncodeResponse response;
  const grpc::Status status = stub->Encode(context.get(), request, &response);
  return FailureOf(status, *context);
}

Failure FailureOf(const HttpReply& reply) {
  Failure failure;
  if (reply.status == 200) return failure;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(reply.body, &failure.status).ok())
      << reply.body;
  const auto header = reply.headers.find("retry-after-ms");
  if (header != reply.headers.end()) {
    int64_t ms = 0;
    int64_t seconds = 0;
    EXPECT_TRUE(absl::SimpleAtoi(header->second, &ms));
    EXPECT_TRUE(absl::SimpleAtoi(reply.headers.at("retry-after"), &seconds));
    EXPECT_GE(seconds, 1);
    EXPECT_GE(seconds * 1000, ms);
    failure.retry_ms = ms;
  } else {
    EXPECT_THAT(reply.headers, Not(Contains(Key("retry-after"))));
  }
  return failure;
}

Failure OverHttp(int port, const v1::EncodeRequest& request) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(request, &json).ok());
  return FailureOf(Post(port, "/v1/encode", json));
}

// Of an error that goes away: a delay within the limits, which header or trailer repeats.
void ExpectRetryHelps(const Failure& failure) {
  const std::optional<RetryInfo> retry = Find<RetryInfo>(failure.status);
  ASSERT_TRUE(retry.has_value()) << failure.status.DebugString();
  const absl::Duration delay = absl::Seconds(retry->retry_delay().seconds()) +
                               absl::Nanoseconds(retry->retry_delay().nanos());
  EXPECT_GE(delay, kLeastRetryDelay);
  EXPECT_LE(delay, kMostRetryDelay);
  EXPECT_EQ(failure.retry_ms, absl::ToInt64Milliseconds(delay));
}

void ExpectRetryDoesNotHelp(const Failure& failure) {
  EXPECT_FALSE(Find<RetryInfo>(failure.status).has_value());
  EXPECT_EQ(failure.retry_ms, std::nullopt);
}

v1::EncodeRequest Texts(const std::vector<std::string>& texts) {
  v1::EncodeRequest request;
  for (const std::string& text : texts) request.mutable_texts()->add_values(text);
  return request;
}

ServerOptions BothPorts(const TinyModel& model) {
  ServerOptions options = TestOptions(model.path());
  options.http_address = "127.0.0.1:0";
  options.http_threads = 4;
  return options;
}

class ErrorContractTest : public ::testing::Test {
 protected:
  // The failure of `request`, which is the same over both transports and never goes away.
  static google::rpc::Status LastingFailure(TestServer& server, const v1::EncodeRequest& request) {
    const Failure grpc = OverGrpc(server, request);
    const Failure http = OverHttp(server.server().http_port(), request);
    EXPECT_EQ(grpc.status.DebugString(), http.status.DebugString());
    ExpectRetryDoesNotHelp(grpc);
    ExpectRetryDoesNotHelp(http);
    return grpc.status;
  }

  TinyModel model_;
};

TEST_F(ErrorContractTest, AWrongFieldIsAViolationWithItsPathAndIndex) {
  TestServer server(BothPorts(model_));
  v1::EncodeRequest request;
  request.mutable_token_ids()->add_values()->add_values(1);
  request.mutable_token_ids()->add_values()->add_values(1'000'000);
  const google::rpc::Status status = LastingFailure(server, request);
  EXPECT_EQ(status.code(), grpc::StatusCode::INVALID_ARGUMENT);
  const std::optional<BadRequest> bad_request = Find<BadRequest>(status);
  ASSERT_TRUE(bad_request.has_value());
  ASSERT_EQ(bad_request->field_violations_size(), 1);
  EXPECT_EQ(bad_request->field_violations(0).field(), "token_ids.values[1].values[0]");
  EXPECT_EQ(bad_request->field_violations(0).description(), status.message());
}

TEST_F(ErrorContractTest, EveryTextThatIsTooLargeIsToldAtOnce) {
  ServerOptions options = BothPorts(model_);
  options.max_text_bytes = 8;
  TestServer server(options);
  const google::rpc::Status status =
      LastingFailure(server, Texts({"the cat sat", "cat", "on the mat", "dog"}));
  EXPECT_THAT(status.message(), HasSubstr("texts.values[0] has 11 bytes; the limit is 8"));
  const std::optional<BadRequest> bad_request = Find<BadRequest>(status);
  ASSERT_TRUE(bad_request.has_value());
  ASSERT_EQ(bad_request->field_violations_size(), 2);
  EXPECT_EQ(bad_request->field_violations(0).field(), "texts.values[0]");
  EXPECT_EQ(bad_request->field_violations(1).field(), "texts.values[2]");
  EXPECT_EQ(bad_request->field_violations(1).description(),
            "texts.values[2] has 10 bytes; the limit is 8");
}

TEST_F(ErrorContractTest, ManyViolationsFitTheTrailersWithTheFirstSixteen) {
  ServerOptions options = BothPorts(model_);
  options.max_text_bytes = 8;
  TestServer server(options);
  const google::rpc::Status status =
      LastingFailure(server, Texts(std::vector<std::string>(500, "the cat sat")));
  EXPECT_THAT(status.message(), HasSubstr("500 errors"));
  EXPECT_EQ(Find<BadRequest>(status).value_or(BadRequest()).field_violations_size(), 16);
}

TEST_F(ErrorContractTest, WhatIsNotBuiltAndWhatTheModelCannotDoHaveTheirReasons) {
  TestServer server(BothPorts(model_));
  v1::EncodeRequest prompt = Texts({"cat"});
  prompt.mutable_options()->set_prompt("query: ");
  const google::rpc::Status not_built = LastingFailure(server, prompt);
  EXPECT_EQ(not_built.code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Reason(not_built), "NOT_BUILT");
  v1::EncodeRequest dimension = Texts({"cat"});
  dimension.mutable_options()->set_expected_dimension(3);
  const google::rpc::Status unfit = LastingFailure(server, dimension);
  EXPECT_EQ(unfit.code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Reason(unfit), "MODEL_UNFIT");
  EXPECT_EQ(Find<ErrorInfo>(unfit).value_or(ErrorInfo()).domain(), "attune");
}

TEST_F(ErrorContractTest, AResultThatIsNotFiniteIsAFaultWithItsReason) {
  TestServer server(BothPorts(model_));
  v1::EncodeRequest request;
  v1::Matrix& matrix = *request.mutable_vectors()->add_values();
  matrix.set_rows(1);
  matrix.set_cols(16);
  for (int i = 0; i < 16; ++i) matrix.add_values(i % 2 == 0 ? 3e38f : -3e38f);
  const google::rpc::Status status = LastingFailure(server, request);
  EXPECT_EQ(status.code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(Reason(status), "NONFINITE_OUTPUT");
}

TEST_F(ErrorContractTest, EveryKindOfCallToALoadingServerSaysWhenToComeBack) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server,
                              Server::Bind(BothPorts(model_)));
  const auto stub = v1::EncoderService::NewStub(grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", server->port()), grpc::InsecureChannelCredentials()));
  std::vector<Failure> failures = {OverHttp(server->http_port(), Texts({"cat"}))};
  {
    const auto context = WithDeadline();
    v1::EncodeResponse response;
    const grpc::Status status = stub->Encode(context.get(), Texts({"cat"}), &response);
    failures.push_back(FailureOf(status, *context));
  }
  {
    const auto context = WithDeadline();
    const grpc::Status status = stub->StreamEncode(context.get())->Finish();
    failures.push_back(FailureOf(status, *context));
  }
  {
    const auto context = WithDeadline();
    const grpc::Status status =
        stub->StreamAttentionMap(context.get(), v1::StreamAttentionMapRequest())->Finish();
    failures.push_back(FailureOf(status, *context));
  }
  {
    const auto context = WithDeadline();
    v1::HeadStatisticsResponse response;
    const grpc::Status status = stub->HeadStatistics(context.get(), &response)->Finish();
    failures.push_back(FailureOf(status, *context));
  }
  for (const Failure& failure : failures) {
    EXPECT_EQ(failure.status.code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(failure.status), "LOADING");
    ExpectRetryHelps(failure);
  }
}

// One worker, and a model that takes some tenths of a second for a text of 512 tokens and whose
// maps do not fit any buffer of the transport.
class BusyServerTest : public ::testing::Test {
 protected:
  static TinyModelOptions SlowModel() {
    TinyModelOptions options;
    options.layers = 12;
    options.heads = 12;
    options.hidden = 96;
    options.ffn = 384;
    options.max_positions = 512;
    return options;
  }

  BusyServerTest() : model_(SlowModel()) {}

  ServerOptions OneWorker() const {
    ServerOptions options = BothPorts(model_);
    options.threads = 1;
    return options;
  }

  // A stream of a map that nobody reads further than its header: until the client goes away it
  // holds its part of the attention budget, and keeps a drain from ending.
  class UnreadMap {
   public:
    explicit UnreadMap(TestServer& server) {
      v1::StreamAttentionMapRequest request;
      request.mutable_query()->set_text(TextOf512Tokens());
      reader_ = server.stub().StreamAttentionMap(context_.get(), request);
      EXPECT_TRUE(reader_->Read(&message_));
      EXPECT_TRUE(message_.has_header());
    }
    void Leave() {
      context_->TryCancel();
      while (reader_->Read(&message_)) {
      }
      reader_->Finish();
    }

   private:
    const std::unique_ptr<grpc::ClientContext> context_ = WithDeadline();
    v1::StreamAttentionMapResponse message_;
    std::unique_ptr<grpc::ClientReader<v1::StreamAttentionMapResponse>> reader_;
  };

  static void ExpectLimitReached(const Failure& failure, const std::string& reason,
                                 const std::string& limit_name) {
    EXPECT_EQ(failure.status.code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(Reason(failure.status), reason);
    const ErrorInfo info = Find<ErrorInfo>(failure.status).value_or(ErrorInfo());
    std::vector<std::string> figures;
    for (const auto& [name, value] : info.metadata()) figures.push_back(name);
    EXPECT_THAT(figures, UnorderedElementsAre("limit", "used", "wanted"));
    const std::optional<QuotaFailure> quota = Find<QuotaFailure>(failure.status);
    ASSERT_TRUE(quota.has_value());
    ASSERT_EQ(quota->violations_size(), 1);
    EXPECT_EQ(quota->violations(0).subject(), limit_name);
    EXPECT_EQ(quota->violations(0).description(), failure.status.message());
    ExpectRetryHelps(failure);
  }

  TinyModel model_;
};

TEST_F(BusyServerTest, AFullQueueSaysWhichLimitAndWhenToComeBack) {
  constexpr int kTexts = 16;
  ServerOptions options = OneWorker();
  options.max_texts = kTexts;
  options.max_queue_tokens = kTexts * 512;
  options.max_deadline = absl::Minutes(10);
  TestServer server(options);
  auto busy = std::async(std::launch::async, [&] {
    const auto context = WithDeadline();
    v1::EncodeResponse response;
    return server.stub().Encode(
        context.get(), Texts(std::vector<std::string>(kTexts, TextOf512Tokens())), &response);
  });
  // One batch has run, so the others wait.
  while (server.server().batches_run() < 1) absl::SleepFor(absl::Milliseconds(1));
  const v1::EncodeRequest request = Texts(std::vector<std::string>(kTexts, TextOf512Tokens()));
  ExpectLimitReached(OverGrpc(server, request), "QUEUE_FULL", "max-queue-tokens");
  ExpectLimitReached(OverHttp(server.server().http_port(), request), "QUEUE_FULL",
                     "max-queue-tokens");
  EXPECT_THAT(busy.get(), IsGrpcOk());
}

TEST_F(BusyServerTest, AQueueThatMovesTooSlowlySaysSoAndWhenToComeBack) {
  ServerOptions options = OneWorker();
  options.max_batch_tokens = 512;
  options.max_queue_wait = absl::Milliseconds(1);
  options.max_deadline = absl::Minutes(10);
  TestServer server(options);
  // Seconds of work, so that most of it still waits when the server knows how fast it is.
  constexpr int kCalls = 24;
  const v1::EncodeRequest long_one = Texts(std::vector<std::string>(8, TextOf512Tokens()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::future<grpc::Status>> busy;
  for (int i = 0; i < kCalls; ++i) {
    contexts.push_back(WithDeadline());
    busy.push_back(std::async(std::launch::async, [&, context = contexts.back().get()] {
      v1::EncodeResponse response;
      return server.stub().Encode(context, long_one, &response);
    }));
  }
  while (server.server().batches_run() == 0) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(absl::Milliseconds(400));
  while (server.server().batches_run() < 8) absl::SleepFor(absl::Milliseconds(1));

  const v1::EncodeRequest late = Texts({"cat"});
  ExpectLimitReached(OverGrpc(server, late), "QUEUE_FULL", "max-queue-wait");
  ExpectLimitReached(OverHttp(server.server().http_port(), late), "QUEUE_FULL", "max-queue-wait");
  for (const auto& context : contexts) context->TryCancel();
  for (std::future<grpc::Status>& call : busy) call.wait();
}

TEST_F(BusyServerTest, AnItemOfAStreamThatIsRefusedHasTheDetailsOfARefusedCall) {
  ServerOptions options = OneWorker();
  options.max_texts = 1;
  options.max_queue_tokens = 512;
  TestServer server(options);
  const auto context = WithDeadline();
  const auto stream = server.stub().StreamEncode(context.get());
  v1::StreamEncodeRequest request;
  request.set_text(TextOf512Tokens());
  constexpr int kItems = 20;
  for (int i = 0; i < kItems; ++i) ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  int refused = 0;
  v1::StreamEncodeResponse answer;
  while (stream->Read(&answer)) {
    if (!answer.has_error()) continue;
    ++refused;
    google::rpc::Status status;
    *status.mutable_details() = answer.error().details();
    EXPECT_EQ(Reason(status), "QUEUE_FULL");
    EXPECT_TRUE(Find<RetryInfo>(status).has_value());
  }
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
  EXPECT_GT(refused, 0);
}

TEST_F(BusyServerTest, TooMuchTextThatWaitsToBeTokenizedSaysWhichLimitAndWhenToComeBack) {
  ServerOptions options = OneWorker();
  options.max_pending_bytes = 1;  // so one request at a time
  TestServer server(options);
  // A few tenths of a second for the tokenizer, again and again.
  v1::TokenizeRequest slow;
  for (int i = 0; i < 3; ++i) slow.mutable_texts()->add_values(std::string(1 << 20, '!'));
  std::atomic<bool> stop{false};
  auto busy = std::async(std::launch::async, [&] {
    while (!stop) {
      v1::TokenizeResponse response;
      const auto context = WithDeadline();
      server.stub().Tokenize(context.get(), slow, &response);
    }
  });
  // Too much text to be tokenised where it arrives, but a single token.
  const v1::EncodeRequest request = Texts({std::string(16 << 10, 'a')});
  // Until a request comes while another is being tokenised.
  const auto refused = [](auto&& send) {
    Failure failure = send();
    for (int i = 0; i < 1000 && failure.status.code() == 0; ++i) failure = send();
    return failure;
  };
  ExpectLimitReached(refused([&] { return OverGrpc(server, request); }), "PENDING_BYTES_FULL",
                     "max-pending-bytes");
  ExpectLimitReached(refused([&] { return OverHttp(server.server().http_port(), request); }),
                     "PENDING_BYTES_FULL", "max-pending-bytes");
  stop = true;
  busy.get();
  // Text is let go of a moment after its answer is sent.
  int code = grpc::StatusCode::UNKNOWN;
  for (int i = 0; i < 1000 && code != grpc::StatusCode::OK; ++i) {
    code = OverGrpc(server, request).status.code();
  }
  EXPECT_EQ(code, grpc::StatusCode::OK);
}

TEST_F(BusyServerTest, TooMuchMemoryOfOtherCallsSaysWhichLimitAndWhenToComeBack) {
  ServerOptions options = OneWorker();
  options.max_message_bytes = 1 << 20;
  options.max_attention_reply_bytes = 1 << 20;
  options.calls_budget_bytes = LargestCallBytes(options);
  TestServer server(options);
  // A reply of three quarters of the largest message: two such calls leave no room for a third.
  v1::EncodeRequest request = Texts(std::vector<std::string>(3, TextOf512Tokens()));
  request.mutable_options()->set_pooling(v1::POOLING_NONE);
  const auto call = [&server, request] { return OverGrpc(server, request).status.code(); };
  auto first = std::async(std::launch::async, call);
  auto second = std::async(std::launch::async, call);
  // All texts of both but the one that is being computed.
  while (server.server().queue_counts().queued_items < 5) absl::SleepFor(absl::Milliseconds(1));
  ExpectLimitReached(OverGrpc(server, request), "CALLS_BUDGET_FULL", "calls-budget");
  ExpectLimitReached(OverHttp(server.server().http_port(), request), "CALLS_BUDGET_FULL",
                     "calls-budget");
  EXPECT_EQ(first.get(), grpc::StatusCode::OK);
  EXPECT_EQ(second.get(), grpc::StatusCode::OK);
}

TEST_F(BusyServerTest, AMapThatTakesMuchToMakeNeedsNoMoreOfTheCallsMemoryThanItsReply) {
  ServerOptions options = OneWorker();
  options.max_message_bytes = 1 << 20;
  options.max_attention_reply_bytes = 2 << 20;
  options.calls_budget_bytes = LargestCallBytes(options);
  TestServer server(options);
  // One head's matrix; all heads' are in memory for it.
  v1::AttentionMapRequest request;
  request.mutable_query()->set_text(TextOf512Tokens());
  request.mutable_query()->add_layers(0);
  request.mutable_query()->add_heads(0);
  const auto context = WithDeadline();
  v1::AttentionMapResponse response;
  request.mutable_query()->set_max_bytes(2 << 20);
  EXPECT_THAT(server.stub().AttentionMap(context.get(), request, &response), IsGrpcOk());
}

TEST_F(BusyServerTest, AStreamThatIsOneTooManySaysWhichLimitAndIsTakenWhenAnotherHasEnded) {
  ServerOptions options = OneWorker();
  options.max_attention_streams = 2;
  TestServer server(options);
  UnreadMap first(server);
  UnreadMap second(server);
  const auto open_another = [&server] {
    v1::StreamAttentionMapRequest request;
    request.mutable_query()->set_text("cat");
    const auto context = WithDeadline();
    const auto stream = server.stub().StreamAttentionMap(context.get(), request);
    v1::StreamAttentionMapResponse message;
    while (stream->Read(&message)) {
    }
    return FailureOf(stream->Finish(), *context);
  };
  ExpectLimitReached(open_another(), "STREAMS_FULL", "max-attention-streams");
  first.Leave();
  // The server hears of that a little later.
  Failure another = open_another();
  while (Reason(another.status) == "STREAMS_FULL") another = open_another();
  EXPECT_EQ(another.status.code(), grpc::StatusCode::OK);
  // It has made room for the next one before its client could see its end.
  EXPECT_EQ(open_another().status.code(), grpc::StatusCode::OK);
  second.Leave();
}

TEST_F(BusyServerTest, AFullAttentionBudgetSaysWhichLimitAndWhenToComeBack) {
  ServerOptions options = OneWorker();
  options.max_attention_reply_bytes = int64_t{8} << 20;
  options.attention_budget_bytes = int64_t{48} << 20;
  TestServer server(options);
  UnreadMap unread(server);
  v1::AttentionQuery query;
  query.set_text(TextOf512Tokens());
  {
    v1::StreamAttentionMapRequest request;
    *request.mutable_query() = query;
    const auto context = WithDeadline();
    const grpc::Status status = server.stub().StreamAttentionMap(context.get(), request)->Finish();
    ExpectLimitReached(FailureOf(status, *context), "ATTENTION_BUDGET_FULL", "attention-budget");
  }
  // A reply of 7 heads' maps, and the memory of the layer that they are taken from.
  for (int head = 0; head < 7; ++head) query.add_heads(head);
  query.add_layers(0);
  query.set_max_bytes(8 << 20);
  v1::AttentionMapRequest request;
  *request.mutable_query() = query;
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(request, &json).ok());
  ExpectLimitReached(FailureOf(Post(server.server().http_port(), "/v1/attention-map", json)),
                     "ATTENTION_BUDGET_FULL", "attention-budget");
  unread.Leave();
}

TEST_F(BusyServerTest, ADrainingServerSaysSoAndWhenToTryAnother) {
  TestServer server(OneWorker());
  UnreadMap unread(server);
  std::future<bool> drained =
      std::async(std::launch::async, [&server] { return server.server().Drain(); });
  Failure grpc;
  while (grpc.status.code() == grpc::StatusCode::OK) grpc = OverGrpc(server, Texts({"cat"}));
  const Failure http = OverHttp(server.server().http_port(), Texts({"cat"}));
  unread.Leave();
  EXPECT_TRUE(drained.get());
  for (const Failure& failure : {grpc, http}) {
    EXPECT_EQ(failure.status.code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Reason(failure.status), "DRAINING");
    ExpectRetryHelps(failure);
  }
}

}  // namespace
}  // namespace attune
