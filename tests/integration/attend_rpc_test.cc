// The attention mechanism through a running server, with the numbers of two worked examples.

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::WithDeadline;
using ::testing::FloatNear;
using ::testing::Pointwise;

class AttendTest : public ::testing::Test {
 protected:
  AttendTest() : server_(TestOptions(model_.path())) {}

  static v1::AttendRequest Parse(const std::string& text) {
    v1::AttendRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    return request;
  }

  grpc::Status Attend(const std::string& text, v1::AttendResponse& response) {
    const auto context = WithDeadline();
    return server_.stub().Attend(context.get(), Parse(text), &response);
  }

  TinyModel model_;
  TestServer server_;
};

// The examples print their numbers with five or six digits.
MATCHER_P(NearTo, tolerance, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance;
}

constexpr char kExampleA[] =
    "vectors { rows: 3 cols: 5 values: [1,2,1,2,1, 1,1,3,2,1, 3,1,2,1,1] } ";

TEST_F(AttendTest, ExampleAWithoutProjections) {
  v1::AttendResponse response;
  ASSERT_THAT(Attend(std::string(kExampleA) + "score: ATTEND_SCORE_DOT", response), IsGrpcOk());
  const std::vector<float> scores(response.scores().values().begin(),
                                  response.scores().values().begin() + 3);
  EXPECT_THAT(scores, ::testing::ElementsAre(11, 11, 10));
  const std::vector<float> weights(response.weights().values().begin(),
                                   response.weights().values().begin() + 3);
  EXPECT_THAT(weights, Pointwise(NearTo(1e-6), {0.422319, 0.422319, 0.155362}));
}

TEST_F(AttendTest, ExampleAWithTheRoundedWeightsGivesThePrintedSum) {
  v1::AttendResponse response;
  ASSERT_THAT(Attend(std::string(kExampleA) +
                         "given_weights { rows: 3 cols: 3 values: [0.4,0.4,0.2, 1,0,0, 0,1,0] }",
                     response),
              IsGrpcOk());
  EXPECT_FALSE(response.has_scores());
  const std::vector<float> outputs(response.outputs().values().begin(),
                                   response.outputs().values().begin() + 5);
  EXPECT_THAT(outputs, Pointwise(NearTo(1e-6), {1.4, 1.4, 2.0, 1.8, 1.0}));
}

constexpr char kExampleB[] =
    "vectors { rows: 3 cols: 4 values: [1,0,1,0, 0,2,0,2, 1,1,1,1] } "
    "key_projection { rows: 4 cols: 3 values: [0,0,1, 1,1,0, 0,1,0, 1,1,0] } "
    "query_projection { rows: 4 cols: 3 values: [1,0,1, 1,0,0, 0,0,1, 0,1,1] } "
    "value_projection { rows: 4 cols: 3 values: [0,2,0, 0,3,0, 1,0,3, 1,1,0] } ";

TEST_F(AttendTest, ExampleBWithProjections) {
  v1::AttendResponse response;
  ASSERT_THAT(Attend(std::string(kExampleB) + "score: ATTEND_SCORE_DOT", response), IsGrpcOk());
  EXPECT_THAT(response.scores().values(), ::testing::ElementsAre(2, 4, 4, 4, 16, 12, 4, 12, 10));
  EXPECT_THAT(response.weights().values(),
              Pointwise(NearTo(5e-6), {6.3379e-2, 4.6831e-1, 4.6831e-1, 6.0337e-6, 9.8201e-1,
                                       1.7986e-2, 2.9539e-4, 8.8054e-1, 1.1917e-1}));
}

TEST_F(AttendTest, ExampleBScaledByTheRootOfTheDimension) {
  v1::AttendResponse response;
  ASSERT_THAT(Attend(kExampleB, response), IsGrpcOk());
  const std::vector<float> first(response.weights().values().begin(),
                                 response.weights().values().begin() + 3);
  EXPECT_THAT(first, Pointwise(NearTo(1e-6), {0.136126, 0.431937, 0.431937}));
}

TEST_F(AttendTest, ExampleBWithRoundedWeightsGivesThePrintedOutputs) {
  v1::AttendResponse response;
  ASSERT_THAT(Attend(std::string(kExampleB) +
                         "given_weights { rows: 3 cols: 3 values: [0,0.5,0.5, 0,1,0, 0,0.9,0.1] }",
                     response),
              IsGrpcOk());
  EXPECT_THAT(response.outputs().values(),
              Pointwise(NearTo(1e-6), {2.0, 7.0, 1.5, 2.0, 8.0, 0.0, 2.0, 7.8, 0.3}));
}

TEST_F(AttendTest, GraphNodeWithoutNeighboursGetsAZeroRow) {
  v1::AttendResponse response;
  ASSERT_THAT(Attend("vectors { rows: 2 cols: 1 values: [1, 2] } "
                     "mask { graph { edges { from: 0 to: 1 } } }",
                     response),
              IsGrpcOk());
  EXPECT_THAT(response.weights().values(), ::testing::ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(response.outputs().values(), ::testing::ElementsAre(2, 0));
}

TEST_F(AttendTest, WrongShapesAndLimitsAreRefusedByName) {
  v1::AttendResponse response;
  EXPECT_THAT(Attend("", response), GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "vectors"));
  EXPECT_THAT(Attend("vectors { rows: 1 cols: 2 values: [1, 2] } heads: 65", response),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "heads"));
  EXPECT_THAT(Attend("vectors { rows: 1 cols: 2 values: [1, nan] }", response),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "vectors"));
  EXPECT_THAT(
      Attend("vectors { rows: 1 cols: 2 values: [1, 2] } score: ATTEND_SCORE_ADDITIVE", response),
      GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "additive_vector"));
}

TEST_F(AttendTest, AReplyThatWouldNotFitIsRefusedBeforeAnythingIsComputed) {
  v1::AttendRequest request;
  request.mutable_vectors()->set_rows(1024);
  request.mutable_vectors()->set_cols(1);
  for (int i = 0; i < 1024; ++i) request.mutable_vectors()->add_values(1);
  const int64_t before = server_.server().batches_run();
  v1::AttendResponse response;
  const auto context = WithDeadline();
  EXPECT_THAT(server_.stub().Attend(context.get(), request, &response),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "the limit is 4194304"));
  EXPECT_EQ(server_.server().batches_run(), before);
}

}  // namespace
}  // namespace attune
