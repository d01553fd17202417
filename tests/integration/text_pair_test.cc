// Text pairs through a running server: Encode and AttentionMap read the two texts as one input.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
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
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::testing::ElementsAre;

using Pair = std::pair<std::string, std::string>;

v1::EncodeRequest PairRequest(const std::vector<Pair>& pairs) {
  v1::EncodeRequest request;
  for (const auto& [first, second] : pairs) {
    v1::TextPair& pair = *request.mutable_text_pairs()->add_values();
    pair.set_first(first);
    pair.set_second(second);
  }
  return request;
}

std::vector<float> Values(const EncodeResult& result, int index) {
  const auto& values = result.response.embeddings(index).values();
  return {values.begin(), values.end()};
}

std::string Cats(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "cat ";
  return text;
}

class TextPairTest : public ::testing::Test {
 protected:
  TextPairTest() : server_(TestOptions(model_.path())) {}

  TinyModel model_;
  TestServer server_;
};

// What the engine gives for the pair's ids and types, which the tokenizer's own tests compare with
// the reference.
std::vector<float> EngineVector(const Engine& engine, const Pair& pair) {
  const auto encoding = engine.tokenizer().EncodePair(pair.first, pair.second, {});
  EXPECT_THAT(encoding, IsOk());
  Batch batch;
  batch.Append(encoding->ids, encoding->type_ids);
  auto owner = std::shared_ptr<const Engine>(&engine, [](const Engine*) {});
  Session session(owner, 64);
  const auto hidden = session.Forward(batch, {});
  EXPECT_THAT(hidden, IsOk());
  std::vector<float> vector(static_cast<size_t>(engine.folder().dimension()));
  EXPECT_THAT(PoolText(engine.default_pooling(), *hidden, absl::MakeSpan(vector)), IsOk());
  return vector;
}

TEST_F(TextPairTest, AVectorIsThatOfTheTemplatesTokensAndTypes) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Engine> engine,
                              Engine::Load(model_.path()));
  const std::vector<Pair> pairs = {
      {"the cat sat", "a dog"}, {"", "hello"}, {"hello", ""}, {"", ""}, {"dog [SEP] cat", "mat"}};
  const EncodeResult result = Encode(server_.stub(), PairRequest(pairs));
  ASSERT_THAT(result.status, IsGrpcOk());
  ASSERT_EQ(static_cast<size_t>(result.response.embeddings_size()), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(Values(result, static_cast<int>(i)), EngineVector(*engine, pairs[i])) << i;
  }
  EXPECT_EQ(result.response.embeddings(0).tokens(), 8u);
  EXPECT_EQ(result.response.embeddings(3).tokens(), 3u);
}

TEST_F(TextPairTest, TheSecondTextHasAnotherTypeThanTheFirst) {
  // The same ids as one text, all of type 0.
  const EncodeResult pair = Encode(server_.stub(), PairRequest({{"the cat", "a dog"}}));
  const EncodeResult text = Encode(server_.stub(), {"the cat [SEP] a dog"});
  ASSERT_THAT(pair.status, IsGrpcOk());
  ASSERT_THAT(text.status, IsGrpcOk());
  EXPECT_EQ(pair.response.embeddings(0).tokens(), text.response.embeddings(0).tokens());
  EXPECT_NE(Values(pair, 0), Values(text, 0));
}

TEST_F(TextPairTest, C21TruncationTakesFromTheLongerText) {
  v1::EncodeRequest request = PairRequest({{"cat cat cat cat cat", "dog"}});
  request.mutable_options()->set_max_tokens(7);
  EXPECT_THAT(Encode(server_.stub(), request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "text_pairs.values[0] has more than 7 tokens"));
  request.mutable_options()->set_truncation(v1::TRUNCATION_RIGHT);
  const EncodeResult cut = Encode(server_.stub(), request);
  ASSERT_THAT(cut.status, IsGrpcOk());
  EXPECT_TRUE(cut.response.embeddings(0).truncated());
  const EncodeResult expected = Encode(server_.stub(), PairRequest({{"cat cat cat", "dog"}}));
  EXPECT_EQ(Values(cut, 0), Values(expected, 0));
}

TEST_F(TextPairTest, ThreeSpecialTokensAreTheLeastLimit) {
  v1::EncodeRequest request = PairRequest({{"cat", "dog"}});
  request.mutable_options()->set_max_tokens(2);
  EXPECT_THAT(Encode(server_.stub(), request).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "options.max_tokens is 2; it must be from 3"));
}

TEST_F(TextPairTest, ErrorsNameThePairAndItsText) {
  EXPECT_THAT(Encode(server_.stub(), PairRequest({{"a", "b"}, {"a", Cats(80)}})).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "text_pairs.values[1] has more than 64 tokens"));
  v1::EncodeRequest large = PairRequest({{"a", "b"}, {"a", std::string((1u << 20) + 1, 'a')}});
  EXPECT_THAT(Encode(server_.stub(), large).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "text_pairs.values[1].second has 1048577 bytes"));
  v1::EncodeRequest empty;
  empty.mutable_text_pairs();
  EXPECT_THAT(Encode(server_.stub(), empty).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "text_pairs.values is empty"));
}

TEST_F(TextPairTest, AModelWithOneTokenTypeRefusesPairsAndServesOn) {
  TinyModelOptions options;
  options.type_vocab = 1;
  const TinyModel model(options);
  TestServer server(TestOptions(model.path()));
  EXPECT_THAT(Encode(server.stub(), PairRequest({{"cat", "dog"}})).status,
              GrpcStatusIs(grpc::StatusCode::FAILED_PRECONDITION, "text_pairs needs token type 1"));
  EXPECT_THAT(Encode(server.stub(), {"cat"}).status, IsGrpcOk());
}

TEST_F(TextPairTest, AttentionMapsOfAPairTellWhichTextATokenIsOf) {
  v1::AttentionQuery query;
  query.mutable_text_pair()->set_first("the cat");
  query.mutable_text_pair()->set_second("a dog");
  query.set_want_embedding(true);
  const auto [status, map] = MapAttention(server_, query);
  ASSERT_THAT(status, IsGrpcOk());
  EXPECT_THAT(map.shape(), ElementsAre(2, 2, 7, 7));
  std::vector<std::string> tokens;
  std::vector<uint32_t> segments;
  for (const v1::Token& token : map.tokens()) {
    tokens.push_back(token.text());
    segments.push_back(token.segment());
  }
  EXPECT_THAT(tokens, ElementsAre("[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]"));
  EXPECT_THAT(segments, ElementsAre(0, 0, 0, 0, 1, 1, 1));
  // Offsets are relative to a token's own text.
  EXPECT_EQ(map.tokens(5).byte_begin(), 2u);

  const EncodeResult encoded = Encode(server_.stub(), PairRequest({{"the cat", "a dog"}}));
  const std::vector<float> embedding(map.embedding().begin(), map.embedding().end());
  EXPECT_EQ(embedding, Values(encoded, 0));
}

TEST_F(TextPairTest, AttentionMapsNameThePairInErrors) {
  v1::AttentionQuery query;
  query.mutable_text_pair()->set_first(Cats(70));
  EXPECT_THAT(
      MapAttention(server_, query).status,
      GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.text_pair has more than 64 tokens"));
}

}  // namespace
}  // namespace attune
