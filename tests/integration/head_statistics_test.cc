// HeadStatistics through a running server.

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::MapAttention;
using ::attune::testing::MapResult;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::AllOf;

class HeadStatisticsTest : public ::testing::Test {
 protected:
  struct Result {
    grpc::Status status;
    v1::HeadStatisticsResponse response;
  };

  // Sends `texts` until they are over or the server ends the stream.
  Result Aggregate(const std::vector<std::string>& texts) {
    Result result;
    const auto context = WithDeadline();
    const auto writer = server_.stub().HeadStatistics(context.get(), &result.response);
    for (const std::string& text : texts) {
      v1::HeadStatisticsRequest request;
      request.set_text(text);
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    result.status = writer->Finish();
    return result;
  }

  v1::AttentionMapResponse Single(const std::string& text) {
    const MapResult map = MapAttention(
        server_, "text: '" + text + "' matrix: ATTENTION_MATRIX_NONE statistics: true");
    EXPECT_THAT(map.status, IsGrpcOk());
    return map.response;
  }

  TinyModel model_;
  TestServer server_{TestOptions(model_.path())};
};

TEST_F(HeadStatisticsTest, OneTextsStatisticsAreThoseOfItsMap) {
  const Result result = Aggregate({"the cat sat on the mat."});
  ASSERT_THAT(result.status, IsGrpcOk());
  const v1::AttentionMapResponse single = Single("the cat sat on the mat.");
  EXPECT_EQ(result.response.texts(), 1u);
  EXPECT_EQ(result.response.tokens(), static_cast<uint64_t>(single.tokens_size()));
  ASSERT_EQ(result.response.statistics_size(), single.statistics_size());
  for (int i = 0; i < single.statistics_size(); ++i) {
    EXPECT_EQ(result.response.statistics(i).SerializeAsString(),
              single.statistics(i).SerializeAsString());
  }
  EXPECT_FALSE(result.response.provenance().model_revision().empty());
}

TEST_F(HeadStatisticsTest, EveryTextCountsOnceWhateverItsLength) {
  const std::vector<std::string> texts = {"cat", "the dog ran on the mat, fast.", "hello world"};
  const Result result = Aggregate(texts);
  ASSERT_THAT(result.status, IsGrpcOk());
  EXPECT_EQ(result.response.texts(), 3u);
  double entropy = 0;
  double self = 0;
  for (const std::string& text : texts) {
    const v1::AttentionMapResponse single = Single(text);
    entropy += double{single.statistics(3).entropy()} / 3;
    self += double{single.statistics(3).self_mass()} / 3;
  }
  EXPECT_NEAR(result.response.statistics(3).entropy(), entropy, 1e-6);
  EXPECT_NEAR(result.response.statistics(3).self_mass(), self, 1e-6);
}

TEST_F(HeadStatisticsTest, AStreamOfManyTextsIsTheMeanOfAll) {
  const Result one = Aggregate({"a cat ran"});
  const Result many = Aggregate(std::vector<std::string>(200, "a cat ran"));
  ASSERT_THAT(many.status, IsGrpcOk());
  EXPECT_EQ(many.response.texts(), 200u);
  EXPECT_NEAR(many.response.statistics(0).entropy(), one.response.statistics(0).entropy(), 1e-6);
}

TEST_F(HeadStatisticsTest, ATextThatCannotBeReadEndsTheStreamWithItsNumber) {
  std::string longer;
  for (int i = 0; i < 70; ++i) longer += "cat ";
  EXPECT_THAT(Aggregate({"cat", longer, "dog"}).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "text 1: query.text has more than"));
}

TEST_F(HeadStatisticsTest, AStreamWithoutTextsIsRefused) {
  EXPECT_THAT(Aggregate({}).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "the stream has no text"));
}

TEST_F(HeadStatisticsTest, ACancelledStreamLeavesTheServerServing) {
  v1::HeadStatisticsResponse response;
  const auto context = WithDeadline();
  const auto writer = server_.stub().HeadStatistics(context.get(), &response);
  v1::HeadStatisticsRequest request;
  request.set_text("the cat");
  ASSERT_TRUE(writer->Write(request));
  context->TryCancel();
  EXPECT_THAT(writer->Finish(), GrpcStatusIs(grpc::StatusCode::CANCELLED, ""));
  EXPECT_THAT(Aggregate({"the cat"}).status, IsGrpcOk());
}

}  // namespace
}  // namespace attune
