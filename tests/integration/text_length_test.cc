// Texts longer than the model folder's own limit, through a server whose limit was raised.

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
using ::attune::testing::StatusIs;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kTrainedTokens = 8;
constexpr int kPositions = 64;

TinyModelOptions ShortlyTrained() {
  TinyModelOptions options;
  options.max_positions = kPositions;
  options.max_seq_length = kTrainedTokens;
  return options;
}

ServerOptions Raised(const TinyModel& model, int64_t max_input_tokens) {
  ServerOptions options = TestOptions(model.path());
  options.max_input_tokens = max_input_tokens;
  return options;
}

// A text of this many tokens, specials included.
std::string TextOf(int tokens) {
  std::string text;
  for (int i = 2; i < tokens; ++i) text += "cat ";
  return text;
}

class TextLengthTest : public ::testing::Test {
 protected:
  const TinyModel model_{ShortlyTrained()};
};

TEST_F(TextLengthTest, TheFoldersOwnLimitIsTheDefault) {
  TestServer server(TestOptions(model_.path()));
  EXPECT_THAT(Encode(server.stub(), {TextOf(kTrainedTokens)}).status, IsGrpcOk());
  EXPECT_THAT(Encode(server.stub(), {TextOf(kTrainedTokens + 1)}).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "has more than 8 tokens"));
}

TEST_F(TextLengthTest, ARaisedLimitTakesLongerTextsAndMarksThemOneByOne) {
  TestServer server(Raised(model_, kPositions));
  const EncodeResult result =
      Encode(server.stub(),
             {TextOf(kTrainedTokens), TextOf(kTrainedTokens + 1), TextOf(3), TextOf(kPositions)});
  ASSERT_THAT(result.status, IsGrpcOk());
  const std::vector<bool> beyond = {false, true, false, true};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(result.response.embeddings(i).beyond_trained_length(), beyond[i]) << i;
    EXPECT_FALSE(result.response.embeddings(i).truncated()) << i;
  }
  EXPECT_EQ(result.response.embeddings(3).tokens(), 64u);
  EXPECT_THAT(Encode(server.stub(), {TextOf(kPositions + 1)}).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "has more than 64 tokens"));
}

TEST_F(TextLengthTest, ACutTextIsMarkedByWhatIsLeftOfIt) {
  TestServer server(Raised(model_, kPositions));
  v1::EncodeOptions options;
  options.set_truncation(v1::TRUNCATION_RIGHT);
  const EncodeResult cut = Encode(server.stub(), {TextOf(kPositions + 10)}, options);
  ASSERT_THAT(cut.status, IsGrpcOk());
  EXPECT_TRUE(cut.response.embeddings(0).truncated());
  EXPECT_TRUE(cut.response.embeddings(0).beyond_trained_length());
  options.set_max_tokens(kTrainedTokens);
  const EncodeResult shorter = Encode(server.stub(), {TextOf(kPositions + 10)}, options);
  ASSERT_THAT(shorter.status, IsGrpcOk());
  EXPECT_TRUE(shorter.response.embeddings(0).truncated());
  EXPECT_FALSE(shorter.response.embeddings(0).beyond_trained_length());
}

TEST_F(TextLengthTest, TokenIdsAreMarkedToo) {
  TestServer server(Raised(model_, kPositions));
  v1::EncodeRequest request;
  for (const int tokens : {kTrainedTokens, kTrainedTokens + 1}) {
    v1::TokenIds& ids = *request.mutable_token_ids()->add_values();
    for (int i = 0; i < tokens; ++i) ids.add_values(5);
  }
  const EncodeResult result = Encode(server.stub(), request);
  ASSERT_THAT(result.status, IsGrpcOk());
  EXPECT_FALSE(result.response.embeddings(0).beyond_trained_length());
  EXPECT_TRUE(result.response.embeddings(1).beyond_trained_length());
}

TEST_F(TextLengthTest, AnAttentionMapIsMarkedToo) {
  TestServer server(Raised(model_, kPositions));
  for (const int tokens : {kTrainedTokens, kTrainedTokens + 1}) {
    v1::AttentionMapRequest request;
    request.mutable_query()->set_text(TextOf(tokens));
    v1::AttentionMapResponse response;
    const auto context = WithDeadline();
    ASSERT_THAT(server.stub().AttentionMap(context.get(), request, &response), IsGrpcOk());
    EXPECT_EQ(response.tokens_size(), tokens);
    EXPECT_EQ(response.beyond_trained_length(), tokens > kTrainedTokens);
  }
}

TEST_F(TextLengthTest, TheVectorIsThatOfAModelWithoutTheLimit) {
  TinyModelOptions unlimited = ShortlyTrained();
  unlimited.max_seq_length = std::nullopt;
  const TinyModel same_weights(unlimited);
  TestServer raised(Raised(model_, kPositions));
  TestServer plain(TestOptions(same_weights.path()));
  const EncodeResult a = Encode(raised.stub(), {TextOf(kPositions)});
  const EncodeResult b = Encode(plain.stub(), {TextOf(kPositions)});
  ASSERT_THAT(a.status, IsGrpcOk());
  ASSERT_THAT(b.status, IsGrpcOk());
  EXPECT_THAT(a.response.embeddings(0).values(),
              ::testing::ElementsAreArray(b.response.embeddings(0).values()));
  EXPECT_FALSE(b.response.embeddings(0).beyond_trained_length());
}

TEST_F(TextLengthTest, GetModelTellsAllThreeLimits) {
  TestServer server(Raised(model_, 32));
  v1::GetModelResponse model;
  const auto context = WithDeadline();
  ASSERT_THAT(server.stub().GetModel(context.get(), v1::GetModelRequest(), &model), IsGrpcOk());
  EXPECT_EQ(model.max_tokens(), 32u);
  EXPECT_EQ(model.trained_max_tokens(), 8u);
  EXPECT_EQ(model.max_positions(), 64u);
}

TEST_F(TextLengthTest, ALimitBeyondThePositionsIsRefusedAtTheStart) {
  for (const int64_t limit : {int64_t{1}, int64_t{kPositions + 1}}) {
    const auto server = Server::Bind(Raised(model_, limit));
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_THAT(
        (*server)->Load(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(absl::StrCat("--max-input-tokens is ", limit)),
                       HasSubstr("from 2 "), HasSubstr("to 64 "), HasSubstr("trained for 8"))));
  }
}

}  // namespace
}  // namespace attune
