#include "client/cli/attend_json.h"

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(AttendJsonTest, ReadsEveryKey) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::AttendRequest request, AttendRequestFromJson(R"({
      "vectors": [[1, 2], [3, 4], [5, 6]], "query_projection": [[1, 0], [0, 1]],
      "key_projection": [[1, 1], [1, 1]], "value_projection": null,
      "output_projection": [[2], [3]], "additive_vector": [0.5, 0.25], "heads": 2,
      "score": "additive", "normalizer": "relu", "position": "sinusoidal",
      "mask": {"window": {"left": 1, "right": 0}}})"));
  EXPECT_EQ(request.vectors().rows(), 3u);
  EXPECT_EQ(request.vectors().cols(), 2u);
  EXPECT_THAT(request.vectors().values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(request.query_projection().values(), ElementsAre(1, 0, 0, 1));
  EXPECT_FALSE(request.has_value_projection());
  EXPECT_EQ(request.output_projection().cols(), 1u);
  EXPECT_EQ(request.additive_vector().rows(), 1u);
  EXPECT_THAT(request.additive_vector().values(), ElementsAre(0.5f, 0.25f));
  EXPECT_EQ(request.heads(), 2u);
  EXPECT_EQ(request.score(), v1::ATTEND_SCORE_ADDITIVE);
  EXPECT_EQ(request.normalizer(), v1::ATTEND_NORMALIZER_RELU);
  EXPECT_EQ(request.position(), v1::ATTEND_POSITION_SINUSOIDAL);
  EXPECT_EQ(request.mask().window().left(), 1u);
  EXPECT_EQ(request.mask().window().right(), 0u);
}

TEST(AttendJsonTest, ReadsCausalAndGraphMasks) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::AttendRequest causal,
                              AttendRequestFromJson(R"({"vectors": [[1]], "mask": "causal"})"));
  EXPECT_TRUE(causal.mask().has_causal());
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const v1::AttendRequest graph,
      AttendRequestFromJson(R"({"vectors": [[1], [2]], "mask": {"graph": [[0, 1], [1, 1]]}})"));
  ASSERT_EQ(graph.mask().graph().edges_size(), 2);
  EXPECT_EQ(graph.mask().graph().edges(0).from(), 0u);
  EXPECT_EQ(graph.mask().graph().edges(0).to(), 1u);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::AttendRequest none,
                              AttendRequestFromJson(R"({"vectors": [[1]], "mask": "none"})"));
  EXPECT_FALSE(none.has_mask());
}

TEST(AttendJsonTest, StacksTheWeightsOfHeads) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const v1::AttendRequest request,
      AttendRequestFromJson(
          R"({"vectors": [[1, 2]], "heads": 2, "given_weights": [[[1]], [[0.5]]]})"));
  EXPECT_EQ(request.given_weights().rows(), 2u);
  EXPECT_EQ(request.given_weights().cols(), 1u);
  EXPECT_THAT(request.given_weights().values(), ElementsAre(1, 0.5f));
}

TEST(AttendJsonTest, NamesWhatIsWrong) {
  const struct {
    const char* json;
    const char* message;
  } cases[] = {
      {"[]", "not a JSON object"},
      {"{}", "\"vectors\" is missing"},
      {R"({"vectors": [[1, 2], [3]]})", "\"vectors\" row 1 has 1 numbers"},
      {R"({"vectors": []})", "\"vectors\" is not an array of rows"},
      {R"({"vectors": [["x"]]})", "\"vectors\" is not an array of rows"},
      {R"({"vectors": [[1e300]]})", "\"vectors\" is not within the range"},
      {R"({"vectors": [[1]], "score": "cosine"})", "\"score\" is not one of additive, dot"},
      {R"({"vectors": [[1]], "heads": -1})", "\"heads\" is not a whole number"},
      {R"({"vectors": [[1]], "mask": {"window": {"up": 1}}})", "unknown key \"up\""},
      {R"({"vectors": [[1]], "mask": {"graph": [[0]]}})",
       "\"mask.graph\" is not an array of edges"},
      {R"({"vectors": [[1]], "mask": 3})", "\"mask\" is not \"none\""},
      {R"({"vectors": [[1]], "Vectors": 1})", "unknown key \"Vectors\""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(AttendRequestFromJson(c.json), StatusIs(kInvalid, HasSubstr(c.message))) << c.json;
  }
}

TEST(AttendJsonTest, WritesOneMatrixPerHead) {
  v1::AttendResponse response;
  const auto set = [](v1::Matrix& matrix, uint32_t rows, uint32_t cols,
                      std::initializer_list<float> values) {
    matrix.set_rows(rows);
    matrix.set_cols(cols);
    matrix.mutable_values()->Add(values.begin(), values.end());
  };
  set(*response.mutable_weights(), 4, 2, {1, 0, 0.5f, 0.5f, 0.25f, 0.75f, 0, 1});
  set(*response.mutable_outputs(), 2, 1, {0.1f, 3});
  EXPECT_EQ(AttendResponseToJson(response),
            R"({"weights":[[[1,0],[0.5,0.5]],[[0.25,0.75],[0,1]]],"outputs":[[0.1],[3]]})");
  EXPECT_EQ(AttendResponseToJson({}), "{}");
}

TEST(AttendJsonTest, HasTwoExamples) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::AttendRequest a, AttendExample("a"));
  EXPECT_EQ(a.vectors().cols(), 5u);
  EXPECT_FALSE(a.has_query_projection());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const v1::AttendRequest b, AttendExample("b"));
  EXPECT_EQ(b.key_projection().rows(), 4u);
  EXPECT_THAT(AttendExample("c"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"c\"")));
}

}  // namespace
}  // namespace attune::cli
