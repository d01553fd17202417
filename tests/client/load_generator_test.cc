// The load generator of `attune bench` against a scripted server.
#include "client/cli/load_generator.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/client/fake_server.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::FakeEncoder;
using ::attune::testing::FakeServer;
using ::attune::testing::RefusedFor;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::vector<std::string> TwoTexts() { return {"abc", "de"}; }

LoadOptions OptionsFor(const FakeServer& server) {
  LoadOptions options;
  options.client.address = server.address();
  options.client.max_attempts = 1;
  return options;
}

TEST(LoadGeneratorTest, ClosedLoopSendsExactlyTheRequestsAskedFor) {
  FakeServer server;
  LoadOptions options = OptionsFor(server);
  options.clients = 3;
  options.connections = 2;
  options.max_requests = 20;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_EQ(server.encoder().CountCalls("Encode"), 20u);
  EXPECT_EQ(report.requests, 20u);
  EXPECT_EQ(report.succeeded, 20u);
  EXPECT_EQ(report.texts, 40u);
  EXPECT_EQ(report.tokens, 20u * 5);
  EXPECT_EQ(report.latencies_ms.size(), 20u);
  EXPECT_TRUE(std::is_sorted(report.latencies_ms.begin(), report.latencies_ms.end()));
  EXPECT_GT(report.elapsed_seconds, 0);
}

TEST(LoadGeneratorTest, ClosedLoopNeverHasMoreUnderWayThanClients) {
  FakeServer server;
  Mutex mu;
  int running = 0;
  int most = 0;
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    {
      MutexLock lock(mu);
      most = std::max(most, ++running);
    }
    const grpc::Status status = FakeEncoder::DefaultEncode(request, response);
    MutexLock lock(mu);
    --running;
    return status;
  };
  LoadOptions options = OptionsFor(server);
  options.clients = 2;
  options.max_requests = 50;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_EQ(report.succeeded, 50u);
  EXPECT_LE(most, 2);
}

TEST(LoadGeneratorTest, CountsErrorsByCodeAndKeepsThemOutOfTheLatencies) {
  FakeServer server;
  Mutex mu;
  int calls = 0;
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    MutexLock lock(mu);
    if (calls++ % 2 == 0) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
    return FakeEncoder::DefaultEncode(request, response);
  };
  LoadOptions options = OptionsFor(server);
  options.max_requests = 10;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_EQ(report.requests, 10u);
  EXPECT_EQ(report.latencies_ms.size(), 5u);
  EXPECT_THAT(report.errors, ElementsAre(Pair(absl::StatusCode::kResourceExhausted, 5u)));
  EXPECT_EQ(report.first_error, "full");
}

TEST(LoadGeneratorTest, OpenLoopKeepsItsRate) {
  FakeServer server;
  LoadOptions options = OptionsFor(server);
  options.rate = 2000;
  options.max_requests = 1000;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_EQ(report.requests, 1000u);
  // The arrivals alone take 0.5 s on average, with a standard deviation of 0.5 / sqrt(1000) s.
  EXPECT_GT(report.elapsed_seconds, 0.4);
}

TEST(LoadGeneratorTest, OpenLoopChargesTheServerForRequestsThatQueueBehindASlowOne) {
  FakeServer server;
  Mutex mu;
  bool first = true;
  // The first answer takes 300 ms and holds up all the others.
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    MutexLock lock(mu);
    if (std::exchange(first, false)) {
      const absl::Time end = absl::Now() + absl::Milliseconds(300);
      while (absl::Now() < end) {
      }
    }
    return FakeEncoder::DefaultEncode(request, response);
  };
  LoadOptions options = OptionsFor(server);
  options.rate = 1000;
  options.max_requests = 100;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  ASSERT_EQ(report.latencies_ms.size(), 100u);
  // 100 arrivals take 100 ms on average: half of them wait for more than half of the 300 ms.
  EXPECT_GT(report.latencies_ms[50], 100);
}

TEST(LoadGeneratorTest, OpenLoopCountsArrivalsBeyondItsBoundInsteadOfSendingThem) {
  FakeServer server;
  Mutex mu;
  CondVar released;
  bool release = false;
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    MutexLock lock(mu);
    while (!release) released.Wait(mu);
    return FakeEncoder::DefaultEncode(request, response);
  };
  LoadOptions options = OptionsFor(server);
  options.rate = 1000;
  options.duration = absl::Milliseconds(200);
  options.max_outstanding = 2;
  // Set free once the arrivals are over; the last text is asked for long before.
  options.client.deadline = absl::Milliseconds(400);
  const absl::StatusOr<LoadReport> report = RunLoad(options, TwoTexts);
  {
    MutexLock lock(mu);
    release = true;
    released.NotifyAll();
  }
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->requests, 2u);
  EXPECT_GT(report->not_sent, 50u);
  EXPECT_THAT(report->errors, ElementsAre(Pair(absl::StatusCode::kDeadlineExceeded, 2u)));
}

TEST(LoadGeneratorTest, DoesNotMeasureTheWarmUp) {
  FakeServer server;
  LoadOptions options = OptionsFor(server);
  options.warmup = absl::Milliseconds(100);
  options.duration = absl::Milliseconds(100);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_GT(report.requests, 0u);
  EXPECT_LT(report.requests, server.encoder().CountCalls("Encode"));
}

TEST(LoadGeneratorTest, KeepsTheLatenciesOfShortAndLongRequestsApart) {
  FakeServer server;
  LoadOptions options = OptionsFor(server);
  options.max_requests = 10;
  int requests = 0;
  // The fake counts a token a byte: 16, 17, 16, 17, ...
  const NextTexts next_texts = [&requests] {
    return std::vector<std::string>{std::string(requests++ % 2 == 0 ? 16 : 17, 'x')};
  };
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, next_texts));
  EXPECT_THAT(report.latencies_ms_by_tokens,
              ElementsAre(Pair(16u, SizeIs(5)), Pair(32u, SizeIs(5))));
}

TEST(LoadGeneratorTest, ReportsWhatTheServersProcessCost) {
  FakeServer server;  // in this process: its cost is the client's as well
  LoadOptions options = OptionsFor(server);
  options.server_pid = getpid();
  options.duration = absl::Milliseconds(200);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  ASSERT_TRUE(report.server_cpu_seconds.has_value());
  // The kernel counts the one in ticks of at most 10 ms, at both ends, and the other exactly.
  EXPECT_NEAR(*report.server_cpu_seconds, report.client_cpu_seconds, 0.05);
}

TEST(LoadGeneratorTest, TellsRefusalsApartByTheServersReason) {
  FakeServer server;
  Mutex mu;
  int calls = 0;
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    MutexLock lock(mu);
    switch (calls++ % 5) {
      case 0:
      case 1:
        return RefusedFor("QUEUE_FULL");
      case 2:
        return RefusedFor("DEADLINE_UNREACHABLE");
      case 3:
        return grpc::Status(grpc::StatusCode::INTERNAL, "no reason");
      default:
        return FakeEncoder::DefaultEncode(request, response);
    }
  };
  LoadOptions options = OptionsFor(server);
  options.max_requests = 10;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_THAT(report.reasons,
              ElementsAre(Pair("DEADLINE_UNREACHABLE", 2u), Pair("QUEUE_FULL", 4u)));
  EXPECT_THAT(report.errors, ElementsAre(Pair(absl::StatusCode::kResourceExhausted, 6u),
                                         Pair(absl::StatusCode::kInternal, 2u)));
  EXPECT_THAT(report.error_latencies_ms, SizeIs(8));
}

// What the fake says of TwoTexts.
KnownVectors KnownOfTwoTexts() {
  const FakeServer server;
  ClientOptions options;
  options.address = server.address();
  const auto client = Client::Create(options);
  return *KnownVectors::Ask(**client, TwoTexts(), LoadEncodeOptions());
}

TEST(LoadGeneratorTest, FindsAnswersThatAreNotTheTexts) {
  FakeServer server;
  const KnownVectors known = KnownOfTwoTexts();
  Mutex mu;
  int calls = 0;
  server.encoder().encode = [&](grpc::ServerContext&, const v1::EncodeRequest& request,
                                v1::EncodeResponse& response) {
    const grpc::Status status = FakeEncoder::DefaultEncode(request, response);
    MutexLock lock(mu);
    // Right vectors, of each other's texts.
    if (calls++ % 5 == 0) response.mutable_embeddings()->SwapElements(0, 1);
    return status;
  };
  LoadOptions options = OptionsFor(server);
  options.max_requests = 20;
  options.known = &known;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_EQ(report.wrong, 4u);
  EXPECT_EQ(report.succeeded, 20u);
}

TEST(LoadGeneratorTest, GoodputIsOfRightAnswersWhileTheLoadIsOn) {
  FakeServer server;
  const KnownVectors known = KnownOfTwoTexts();
  server.encoder().encode = [](grpc::ServerContext&, const v1::EncodeRequest& request,
                               v1::EncodeResponse& response) {
    const grpc::Status status = FakeEncoder::DefaultEncode(request, response);
    response.mutable_embeddings()->SwapElements(0, 1);
    return status;
  };
  LoadOptions options = OptionsFor(server);
  options.max_requests = 20;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport believed, RunLoad(options, TwoTexts));
  EXPECT_GT(believed.goodput, 0);
  options.known = &known;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport checked, RunLoad(options, TwoTexts));
  EXPECT_EQ(checked.goodput, 0);
}

TEST(LoadGeneratorTest, ProbesHealthWhileItMeasures) {
  FakeServer server;
  LoadOptions options = OptionsFor(server);
  options.duration = absl::Milliseconds(200);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport unasked, RunLoad(options, TwoTexts));
  EXPECT_FALSE(unasked.health.has_value());
  options.probe_health = true;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport healthy, RunLoad(options, TwoTexts));
  ASSERT_TRUE(healthy.health.has_value());
  EXPECT_FALSE(healthy.health->latencies_ms.empty());
  EXPECT_EQ(healthy.health->failed, 0u);
}

TEST(LoadGeneratorTest, CountsHealthChecksThatDoNotFindItServing) {
  FakeServer server(/*with_health=*/false);
  LoadOptions options = OptionsFor(server);
  options.max_requests = 1;
  options.probe_health = true;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const LoadReport report, RunLoad(options, TwoTexts));
  EXPECT_THAT(report.health->latencies_ms, IsEmpty());
  EXPECT_GE(report.health->failed, 1u);
}

TEST(LoadGeneratorTest, RefusesAProcessThatIsNotThere) {
  LoadOptions options;
  options.server_pid = INT_MAX;
  EXPECT_THAT(RunLoad(options, TwoTexts),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no process 2147483647")));
}

TEST(LoadGeneratorTest, RefusesALoadWithoutAnEnd) {
  LoadOptions options;
  options.duration = absl::InfiniteDuration();
  EXPECT_THAT(RunLoad(options, TwoTexts),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("finite duration")));
  options.duration = absl::Seconds(1);
  options.rate = 0;
  EXPECT_THAT(RunLoad(options, TwoTexts),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rate is 0")));
}

}  // namespace
}  // namespace attune::cli
