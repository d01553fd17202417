// Health from the first moment to the last, and a drain that loses no request.

#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

constexpr char kService[] = "attune.v1.EncoderService";

HealthCheckResponse::ServingStatus Check(Health::Stub& stub, const std::string& name) {
  HealthCheckRequest request;
  request.set_service(name);
  HealthCheckResponse response;
  const auto context = WithDeadline();
  EXPECT_THAT(stub.Check(context.get(), request, &response), IsGrpcOk()) << name;
  return response.status();
}

std::shared_ptr<grpc::Channel> ChannelTo(const Server& server) {
  return grpc::CreateChannel(absl::StrCat("127.0.0.1:", server.port()),
                             grpc::InsecureChannelCredentials());
}

TEST(LifecycleTest, C60BeforeTheModelIsLoadedOnlyLivenessIsServing) {
  const TinyModel model;
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server,
                              Server::Bind(TestOptions(model.path())));
  const auto health = Health::NewStub(ChannelTo(*server));
  const auto stub = v1::EncoderService::NewStub(ChannelTo(*server));
  EXPECT_EQ(Check(*health, ""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(*health, kService), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check(*health, "liveness"), HealthCheckResponse::SERVING);
  EXPECT_THAT(Encode(*stub, {"cat"}).status,
              GrpcStatusIs(grpc::StatusCode::UNAVAILABLE, "the server is loading"));

  ASSERT_THAT(server->Load(), IsOk());
  EXPECT_EQ(Check(*health, ""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check(*health, kService), HealthCheckResponse::SERVING);
  EXPECT_THAT(Encode(*stub, {"cat"}).status, IsGrpcOk());
}

TEST(LifecycleTest, C60AModelThatDoesNotLoadIsNeverServed) {
  const TinyModel model;
  model.dir().Remove("model.safetensors");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Server> server,
                              Server::Bind(TestOptions(model.path())));
  EXPECT_THAT(server->Load(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("model.safetensors")));
  const auto health = Health::NewStub(ChannelTo(*server));
  EXPECT_EQ(Check(*health, ""), HealthCheckResponse::NOT_SERVING);
}

TEST(LifecycleTest, C60ATakenPortIsAClearErrorNotASharedOne) {
  const TinyModel model;
  const TestServer first(TestOptions(model.path()));
  ServerOptions options = TestOptions(model.path());
  options.grpc_address = first.address();
  EXPECT_THAT(Server::Bind(options),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--grpc-address 127.0.0.1:")));
}

TEST(LifecycleTest, HealthListsAllNamesAndDoesNotKnowOthers) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  grpc::health::v1::HealthListResponse list;
  const auto context = WithDeadline();
  ASSERT_THAT(server.health().List(context.get(), {}, &list), IsGrpcOk());
  EXPECT_EQ(list.statuses_size(), 3);
  EXPECT_EQ(list.statuses().at(kService).status(), HealthCheckResponse::SERVING);

  HealthCheckRequest unknown;
  unknown.set_service("no.such.Service");
  HealthCheckResponse response;
  const auto check = WithDeadline();
  EXPECT_EQ(server.health().Check(check.get(), unknown, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(LifecycleTest, WatchOfAnUnknownNameStaysOpen) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  HealthCheckRequest unknown;
  unknown.set_service("no.such.Service");
  const auto context = WithDeadline();
  const auto watch = server.health().Watch(context.get(), unknown);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context->TryCancel();
  EXPECT_FALSE(watch->Read(&response));
}

TEST(LifecycleTest, WatchersHearOfTheDrainAndAreEndedWithOk) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  HealthCheckRequest request;
  request.set_service(kService);
  const auto context = WithDeadline();
  const auto watch = server.health().Watch(context.get(), request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);

  std::future<bool> drained =
      std::async(std::launch::async, [&server] { return server.server().Drain(); });
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_THAT(watch->Finish(), IsGrpcOk());
  EXPECT_TRUE(drained.get());
}

TEST(LifecycleTest, ManyWatchersDoNotHoldUpADrain) {
  const TinyModel model;
  TestServer server(TestOptions(model.path()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> watches;
  // The server takes 100 streams a connection.
  std::vector<std::unique_ptr<Health::Stub>> stubs;
  HealthCheckResponse response;
  for (int i = 0; i < 200; ++i) {
    if (i % 50 == 0) stubs.push_back(Health::NewStub(server.NewChannel()));
    contexts.push_back(WithDeadline());
    watches.push_back(stubs.back()->Watch(contexts.back().get(), HealthCheckRequest()));
    ASSERT_TRUE(watches.back()->Read(&response));
  }
  const absl::Time start = absl::Now();
  EXPECT_TRUE(server.server().Drain());
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  for (auto& watch : watches) {
    while (watch->Read(&response)) {
    }
    EXPECT_THAT(watch->Finish(), IsGrpcOk());
  }
}

TEST(LifecycleTest, C60ADrainFinishesEveryAdmittedRequestAndRefusesNewOnes) {
  const TinyModel model;
  ServerOptions options = TestOptions(model.path());
  options.drain_delay = absl::Milliseconds(200);
  TestServer server(options);

  std::atomic<bool> stop{false};
  std::atomic<int> served{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] {
      const auto stub = v1::EncoderService::NewStub(server.NewChannel());
      while (!stop) {
        const EncodeResult result = Encode(*stub, {"the cat sat", "the dog"});
        if (result.status.ok()) {
          ++served;
          continue;
        }
        // Refused by name, or no longer listening: never cut off half-way.
        EXPECT_EQ(result.status.error_code(), grpc::StatusCode::UNAVAILABLE)
            << result.status.error_message();
        return;
      }
    });
  }
  while (served < 20) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(server.server().Drain());
  stop = true;
  for (std::thread& client : clients) client.join();
}

TEST(LifecycleTest, AHurriedDrainDoesNotWaitForItsDelay) {
  const TinyModel model;
  ServerOptions options = TestOptions(model.path());
  options.drain_delay = absl::Hours(1);
  TestServer server(options);
  std::future<bool> drained =
      std::async(std::launch::async, [&server] { return server.server().Drain(); });
  server.server().Hurry();
  EXPECT_TRUE(drained.get());
}

}  // namespace
}  // namespace attune
