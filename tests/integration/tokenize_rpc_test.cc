// Tokenize and GetModel through a running server.

#include "gmock/gmock.h"
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
using ::testing::ElementsAre;

class TokenizeTest : public ::testing::Test {
 protected:
  TokenizeTest() : server_(TestOptions(model_.path())) {}

  grpc::Status Tokenize(const v1::TokenizeRequest& request, v1::TokenizeResponse& response) {
    const auto context = WithDeadline();
    return server_.stub().Tokenize(context.get(), request, &response);
  }

  static std::vector<std::string> Texts(const v1::TokenizedText& text) {
    std::vector<std::string> tokens;
    for (const v1::Token& token : text.tokens()) tokens.push_back(token.text());
    return tokens;
  }

  TinyModel model_;
  TestServer server_;
};

TEST_F(TokenizeTest, GivesTokensWithOffsetsInBytesAndCodePoints) {
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values("C\xc3\xa1t, dogs");  // a with an acute accent
  v1::TokenizeResponse response;
  ASSERT_THAT(Tokenize(request, response), IsGrpcOk());
  ASSERT_EQ(response.texts_size(), 1);
  EXPECT_THAT(Texts(response.texts(0)), ElementsAre("[CLS]", "cat", ",", "dog", "##s", "[SEP]"));
  const v1::Token& cat = response.texts(0).tokens(1);
  EXPECT_EQ(cat.byte_begin(), 0u);
  EXPECT_EQ(cat.byte_end(), 4u);
  EXPECT_EQ(cat.code_point_end(), 3u);
  const v1::Token& dog = response.texts(0).tokens(3);
  EXPECT_EQ(dog.byte_begin(), 6u);
  EXPECT_EQ(dog.code_point_begin(), 5u);
  EXPECT_EQ(dog.id(), static_cast<uint32_t>(model_.TokenId("dog")));
}

TEST_F(TokenizeTest, CountsTokensOfTextsLongerThanTheModelTakes) {
  std::string longer;
  for (int i = 0; i < 100; ++i) longer += "cat ";
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values(longer);
  v1::TokenizeResponse response;
  ASSERT_THAT(Tokenize(request, response), IsGrpcOk());
  EXPECT_EQ(response.texts(0).tokens_size(), 102);
  EXPECT_FALSE(response.texts(0).truncated());
}

TEST_F(TokenizeTest, C51UnbrokenTextIsCountedInFull) {
  std::string han;
  for (int i = 0; i < 50'000; ++i) han += "\xe4\xb8\xad";
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values(std::string(1'000'000, 'a'));
  request.mutable_texts()->add_values(std::string(1'000'000, ' '));
  request.mutable_texts()->add_values(han);
  v1::TokenizeResponse response;
  ASSERT_THAT(Tokenize(request, response), IsGrpcOk());
  EXPECT_THAT(Texts(response.texts(0)), ElementsAre("[CLS]", "[UNK]", "[SEP]"));
  EXPECT_THAT(Texts(response.texts(1)), ElementsAre("[CLS]", "[SEP]"));
  EXPECT_EQ(response.texts(2).tokens_size(), 50'002);
}

TEST_F(TokenizeTest, C56TheReplacementCharacterIsDropped) {
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values("the ca\xef\xbf\xbdt");
  v1::TokenizeResponse response;
  ASSERT_THAT(Tokenize(request, response), IsGrpcOk());
  EXPECT_THAT(Texts(response.texts(0)), ElementsAre("[CLS]", "the", "cat", "[SEP]"));
  EXPECT_EQ(response.texts(0).tokens(2).byte_end(), 10u);
}

TEST_F(TokenizeTest, TruncatesWhenGivenALimit) {
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values("the cat sat on the mat");
  request.set_max_tokens(4);
  v1::TokenizeResponse response;
  EXPECT_THAT(Tokenize(request, response),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "texts.values[0] has more than 4"));
  request.set_truncation(v1::TRUNCATION_LEFT);
  ASSERT_THAT(Tokenize(request, response), IsGrpcOk());
  EXPECT_THAT(Texts(response.texts(0)), ElementsAre("[CLS]", "the", "mat", "[SEP]"));
  EXPECT_TRUE(response.texts(0).truncated());
}

TEST_F(TokenizeTest, LeavesOutSpecialTokensWhenAsked) {
  v1::TokenizeRequest request;
  request.mutable_texts()->add_values("the cat");
  request.set_without_special_tokens(true);
  v1::TokenizeResponse response;
  ASSERT_THAT(Tokenize(request, response), IsGrpcOk());
  EXPECT_THAT(Texts(response.texts(0)), ElementsAre("the", "cat"));
}

TEST_F(TokenizeTest, AReplyThatWouldNotFitIsRefused) {
  v1::TokenizeRequest request;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "a ";
  request.mutable_texts()->add_values(text);
  v1::TokenizeResponse response;
  EXPECT_THAT(Tokenize(request, response),
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "the limit is 4194304"));
}

TEST_F(TokenizeTest, C57GetModelTellsShapeLimitsAndIdentity) {
  v1::GetModelResponse model;
  const auto context = WithDeadline();
  ASSERT_THAT(server_.stub().GetModel(context.get(), v1::GetModelRequest(), &model), IsGrpcOk());
  EXPECT_EQ(model.family(), "bert");
  EXPECT_EQ(model.layers(), 2u);
  EXPECT_EQ(model.heads(), 2u);
  EXPECT_EQ(model.head_dim(), 8u);
  EXPECT_EQ(model.hidden(), 16u);
  EXPECT_EQ(model.dimension(), 16u);
  EXPECT_EQ(model.max_tokens(), 64u);
  EXPECT_THAT(model.pooling(), ElementsAre("mean"));
  EXPECT_TRUE(model.normalize());
  EXPECT_EQ(model.trained_max_tokens(), 64u);
  EXPECT_EQ(model.max_positions(), 64u);
  EXPECT_FALSE(model.kernels().empty());
  EXPECT_FALSE(model.isa().empty());
  EXPECT_EQ(model.revision().size(), 64u);
  EXPECT_EQ(model.limits().max_texts(), 2'048u);
  EXPECT_EQ(model.limits().max_message_bytes(), 4u << 20);
}

}  // namespace
}  // namespace attune
