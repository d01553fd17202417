// Under load nobody waits for ever, and nobody waits for what cannot come.

#include <future>
#include <string>
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
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::SlowModel;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TextOf512Tokens;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::AllOf;

constexpr int kBacklog = 1'000;

// One worker, and a model that takes so long for a text of 512 tokens that the worker has not
// caught up with the backlog while the test looks.
class FairShareTest : public ::testing::Test {
 protected:
  static ServerOptions OneWorker(const std::string& path) {
    ServerOptions options = TestOptions(path);
    options.threads = 1;
    options.max_parallel_per_stream = 2 * kBacklog;
    return options;
  }

  void WaitUntilQueued(int64_t items) {
    while (server().queue_counts().queued_items < items) absl::SleepFor(absl::Milliseconds(1));
  }
  void WaitUntilBatches(int64_t batches) {
    while (server().batches_run() < batches) absl::SleepFor(absl::Milliseconds(1));
  }

  Server& server() { return running_.server(); }
  v1::EncoderService::Stub& stub() { return running_.stub(); }

  const TinyModel model_{SlowModel()};
  TestServer running_{OneWorker(model_.path())};
};

TEST_F(FairShareTest, ABulkStreamDoesNotStarveASingleRequest) {
  const auto context = WithDeadline();
  const auto stream = stub().StreamEncode(context.get());
  v1::StreamEncodeRequest item;
  item.mutable_options();
  item.set_text(TextOf512Tokens());
  for (int i = 0; i < kBacklog; ++i) ASSERT_TRUE(stream->Write(item));
  WaitUntilQueued(kBacklog / 2);
  EXPECT_THAT(Encode(stub(), {"cat"}).status, IsGrpcOk());
  EXPECT_GT(server().queue_counts().queued_items, kBacklog / 4);

  context->TryCancel();
  EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::StatusCode::CANCELLED, ""));
}

TEST_F(FairShareTest, ADeadlineThatCannotBeMetIsRefusedWhileTheQueueIsLong) {
  v1::EncodeRequest backlog;
  for (int i = 0; i < kBacklog; ++i) backlog.mutable_texts()->add_values(TextOf512Tokens());
  const auto context = WithDeadline();
  std::future<grpc::Status> busy = std::async(std::launch::async, [&] {
    v1::EncodeResponse response;
    return stub().Encode(context.get(), backlog, &response);
  });
  WaitUntilBatches(8);  // enough to predict by

  v1::EncodeRequest request;
  for (int i = 0; i < 9; ++i) request.mutable_texts()->add_values(TextOf512Tokens());
  v1::EncodeResponse response;
  const auto in_vain = WithDeadline(absl::Seconds(2));
  EXPECT_THAT(stub().Encode(in_vain.get(), request, &response),
              AllOf(GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "is predicted to take"),
                    GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "its deadline allows")));
  EXPECT_EQ(server().queue_counts().rejected_deadline_unreachable, 1);
  EXPECT_EQ(server().queue_counts().items_expired, 0);

  // The backlog's place is free as soon as its caller has gone.
  context->TryCancel();
  EXPECT_THAT(busy.get(), GrpcStatusIs(grpc::StatusCode::CANCELLED, ""));
  EXPECT_THAT(Encode(stub(), {"cat"}).status, IsGrpcOk());
  EXPECT_GT(server().queue_counts().items_cancelled, 0);
}

}  // namespace
}  // namespace attune
