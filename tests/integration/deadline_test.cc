// Work that nobody waits for any more is not done.

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/slow_model.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::SlowModel;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TextOf512Tokens;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::AnyOf;

// One worker, and a model that takes some tenths of a second for a text of 512 tokens, so that a
// handful of them keeps the worker busy while the test looks.
class DeadlineTest : public ::testing::Test {
 protected:
  static ServerOptions OneWorker(const std::string& path) {
    ServerOptions options = TestOptions(path);
    options.threads = 1;
    return options;
  }

  DeadlineTest() : model_(SlowModel()) {}

  // One server a test: ThreadSanitizer does not see what orders a second one before the threads
  // that poll for the first.
  void StartServer() { StartServer(OneWorker(model_.path())); }
  void StartServer(const ServerOptions& options) { running_.emplace(options); }

  Server& server() { return running_->server(); }
  v1::EncoderService::Stub& stub() { return running_->stub(); }

  // A request of `texts` long texts, each of which is a batch of its own.
  std::future<EncodeResult> StartLongRequest(int texts) {
    return std::async(std::launch::async, [this, texts] {
      return Encode(stub(),
                    std::vector<std::string>(static_cast<size_t>(texts), TextOf512Tokens()));
    });
  }

  void WaitUntilBatches(int64_t batches) {
    while (server().batches_run() < batches) absl::SleepFor(absl::Milliseconds(1));
  }

  TinyModel model_;
  std::optional<TestServer> running_;
};

TEST_F(DeadlineTest, C53WorkThatExpiresInTheQueueIsNeverComputed) {
  StartServer();
  std::future<EncodeResult> busy = StartLongRequest(6);
  WaitUntilBatches(1);
  v1::EncodeRequest request;
  request.mutable_texts()->add_values("cat");
  v1::EncodeResponse response;
  const auto context = WithDeadline(absl::Milliseconds(20));
  EXPECT_EQ(stub().Encode(context.get(), request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(busy.get().status, IsGrpcOk());
  // The next request is behind the expired one in the queue.
  EXPECT_THAT(Encode(stub(), {"dog"}).status, IsGrpcOk());
  EXPECT_EQ(server().batches_run(), 6 + 1);
}

TEST_F(DeadlineTest, C53WorkCancelledInTheQueueIsNeverComputed) {
  StartServer();
  std::future<EncodeResult> busy = StartLongRequest(6);
  WaitUntilBatches(1);
  v1::EncodeRequest request;
  request.mutable_texts()->add_values("cat");
  const auto context = WithDeadline();
  std::thread cancel([&context] {
    absl::SleepFor(absl::Milliseconds(20));
    context->TryCancel();
  });
  v1::EncodeResponse response;
  EXPECT_EQ(stub().Encode(context.get(), request, &response).error_code(),
            grpc::StatusCode::CANCELLED);
  cancel.join();
  EXPECT_THAT(busy.get().status, IsGrpcOk());
  EXPECT_THAT(Encode(stub(), {"dog"}).status, IsGrpcOk());
  EXPECT_EQ(server().batches_run(), 6 + 1);
}

TEST_F(DeadlineTest, C53AThousandRequestsThatExpireInTheQueueLeaveItEmpty) {
  StartServer();
  std::future<EncodeResult> busy = StartLongRequest(6);
  WaitUntilBatches(1);
  // The server takes 100 streams a connection.
  std::vector<std::unique_ptr<v1::EncoderService::Stub>> stubs;
  for (int i = 0; i < 10; ++i) {
    stubs.push_back(v1::EncoderService::NewStub(running_->NewChannel()));
  }
  v1::EncodeRequest request;
  request.mutable_texts()->add_values("cat");
  struct Ended {
    std::unique_ptr<grpc::ClientContext> context;
    v1::EncodeResponse response;
    std::promise<grpc::Status> status;
  };
  std::vector<Ended> calls(1000);
  for (size_t i = 0; i < calls.size(); ++i) {
    Ended& call = calls[i];
    call.context = WithDeadline(absl::Milliseconds(50));
    stubs[i % stubs.size()]->async()->Encode(
        call.context.get(), &request, &call.response,
        [&call](const grpc::Status& status) { call.status.set_value(status); });
  }
  for (Ended& call : calls) {
    EXPECT_THAT(call.status.get_future().get().error_code(),
                AnyOf(grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::RESOURCE_EXHAUSTED));
  }
  EXPECT_THAT(busy.get().status, IsGrpcOk());
  EXPECT_THAT(Encode(stub(), {"dog"}).status, IsGrpcOk());
  EXPECT_EQ(server().batches_run(), 6 + 1);
  EXPECT_EQ(server().queue_counts().queued_items, 0);
  EXPECT_EQ(server().queue_counts().queued_tokens, 0);
}

TEST_F(DeadlineTest, ACancelledRequestStopsWhileItRuns) {
  StartServer();
  v1::EncodeRequest request;
  for (int i = 0; i < 200; ++i) request.mutable_texts()->add_values(TextOf512Tokens());
  const auto context = WithDeadline();
  std::thread cancel([this, &context] {
    WaitUntilBatches(1);
    context->TryCancel();
  });
  v1::EncodeResponse response;
  EXPECT_EQ(stub().Encode(context.get(), request, &response).error_code(),
            grpc::StatusCode::CANCELLED);
  cancel.join();
  // The worker is free again long before 200 batches.
  EXPECT_THAT(Encode(stub(), {"dog"}).status, IsGrpcOk());
  EXPECT_LT(server().batches_run(), 100);
}

TEST_F(DeadlineTest, AFullQueueRefusesAtOnceAndServesAgainWhenItIsEmpty) {
  ServerOptions options = OneWorker(model_.path());
  options.max_texts = 8;
  options.max_queue_tokens = 8 * 512;
  StartServer(options);
  const std::vector<std::string> eight(8, TextOf512Tokens());
  std::vector<std::future<EncodeResult>> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(std::async(std::launch::async, [&] { return Encode(stub(), eight); }));
  }
  int refused = 0;
  for (auto& request : busy) {
    const EncodeResult result = request.get();
    if (result.status.ok()) continue;
    ++refused;
    EXPECT_THAT(result.status,
                GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"));
  }
  EXPECT_GE(refused, 1);
  EXPECT_THAT(Encode(stub(), {"cat"}).status, IsGrpcOk());
}

TEST_F(DeadlineTest, C53AFullQueueRefusesOneTextByTheRuleForMany) {
  ServerOptions options = OneWorker(model_.path());
  options.max_texts = 32;
  options.max_input_tokens = 128;
  options.max_queue_tokens = 32 * 128;
  StartServer(options);
  std::string text;
  for (int i = 0; i < 126; ++i) text += "cat ";
  const auto ask_for = [&](size_t texts) {
    return std::async(std::launch::async, [this, texts, &text] {
      return Encode(stub(), std::vector<std::string>(texts, text));
    });
  };
  std::future<EncodeResult> busy = ask_for(32);
  WaitUntilBatches(1);
  // What has left the queue makes room for a few texts, never for thirty-two or all of these.
  std::vector<std::future<EncodeResult>> singles;
  for (int i = 0; i < 40; ++i) singles.push_back(ask_for(1));
  const EncodeResult many = ask_for(32).get();
  EXPECT_THAT(many.status, GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"));
  int refused = 0;
  for (std::future<EncodeResult>& single : singles) {
    const EncodeResult result = single.get();
    if (result.status.ok()) continue;
    ++refused;
    EXPECT_THAT(result.status,
                GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"));
  }
  EXPECT_GE(refused, 1);
  EXPECT_THAT(busy.get().status, IsGrpcOk());
  EXPECT_THAT(Encode(stub(), {"cat"}).status, IsGrpcOk());
  EXPECT_EQ(server().queue_counts().queued_tokens, 0);
}

TEST_F(DeadlineTest, TheServersOwnLimitBoundsCallsWithoutADeadline) {
  ServerOptions options = OneWorker(model_.path());
  options.max_deadline = absl::Milliseconds(50);
  StartServer(options);
  v1::EncodeRequest request;
  for (int i = 0; i < 50; ++i) request.mutable_texts()->add_values(TextOf512Tokens());
  grpc::ClientContext context;  // no deadline
  v1::EncodeResponse response;
  EXPECT_EQ(stub().Encode(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(DeadlineTest, AHurriedStopEndsRunningCallsInsteadOfWaitingForThem) {
  StartServer();
  std::future<EncodeResult> busy = StartLongRequest(200);
  WaitUntilBatches(1);
  server().Hurry();
  EXPECT_FALSE(server().Drain());
  EXPECT_FALSE(busy.get().status.ok());
  EXPECT_LT(server().batches_run(), 100);
}

}  // namespace
}  // namespace attune
