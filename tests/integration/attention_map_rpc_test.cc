// AttentionMap through a running server.

#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::AttentionServerTest;
using ::attune::testing::Encode;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::MapAttention;
using ::attune::testing::MapResult;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::WithDeadline;
using ::testing::ElementsAre;

v1::AttentionQuery Query(const std::string& text) {
  v1::AttentionQuery query;
  query.set_text(text);
  return query;
}

class AttentionMapTest : public AttentionServerTest {
 protected:
  AttentionMapTest() : AttentionServerTest(3, 4) {}
};

TEST_F(AttentionMapTest, GivesEveryHeadOfEveryLayerWithRowsThatSumToOne) {
  const MapResult map = MapAttention(server_, Query("the cat sat on the mat"));
  ASSERT_THAT(map.status, IsGrpcOk());
  EXPECT_THAT(map.response.shape(), ElementsAre(3, 4, 8, 8));
  EXPECT_THAT(map.response.layers(), ElementsAre(0, 1, 2));
  EXPECT_THAT(map.response.heads(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(map.response.matrix(), v1::ATTENTION_MATRIX_WEIGHTS);
  const std::vector<float> data = map.Data();
  ASSERT_EQ(data.size(), 3u * 4 * 8 * 8);
  for (size_t row = 0; row < data.size() / 8; ++row) {
    double sum = 0;
    for (size_t key = 0; key < 8; ++key) sum += data[row * 8 + key];
    EXPECT_NEAR(sum, 1.0, 1e-5) << "row " << row;
  }
}

TEST_F(AttentionMapTest, TellsTheTokensOfRowsAndColumns) {
  const MapResult map = MapAttention(server_, Query("The cats"));
  ASSERT_THAT(map.status, IsGrpcOk());
  ASSERT_EQ(map.response.tokens_size(), 5);
  EXPECT_EQ(map.response.tokens(0).text(), "[CLS]");
  EXPECT_TRUE(map.response.tokens(0).special());
  EXPECT_EQ(map.response.tokens(0).word(), -1);
  EXPECT_EQ(map.response.tokens(2).text(), "cat");
  EXPECT_EQ(map.response.tokens(3).text(), "##s");
  EXPECT_EQ(map.response.tokens(3).byte_begin(), 7u);
  EXPECT_EQ(map.response.tokens(3).byte_end(), 8u);
  EXPECT_EQ(map.response.tokens(3).word(), map.response.tokens(2).word());
  EXPECT_FALSE(map.response.provenance().model_revision().empty());
  EXPECT_EQ(map.response.provenance().compute_dtype(), "f32");
}

TEST_F(AttentionMapTest, ASelectionIsASliceOfTheFullMapBitForBit) {
  const std::vector<float> full = MapAttention(server_, Query("the cat sat")).Data();
  v1::AttentionQuery query = Query("the cat sat");
  query.add_layers(-1);
  query.add_layers(0);
  query.add_heads(3);
  query.add_heads(1);
  const MapResult map = MapAttention(server_, query);
  ASSERT_THAT(map.status, IsGrpcOk());
  EXPECT_THAT(map.response.layers(), ElementsAre(0, 2));
  EXPECT_THAT(map.response.heads(), ElementsAre(1, 3));
  const std::vector<float> data = map.Data();
  const size_t cells = 5 * 5;
  ASSERT_EQ(data.size(), 4 * cells);
  size_t at = 0;
  for (const size_t layer : {0, 2}) {
    for (const size_t head : {1, 3}) {
      const float* expected = full.data() + (layer * 4 + head) * cells;
      EXPECT_EQ(std::memcmp(data.data() + at, expected, cells * sizeof(float)), 0)
          << "layer " << layer << " head " << head;
      at += cells;
    }
  }
}

TEST_F(AttentionMapTest, RowsAreQueriesAndColumnsKeys) {
  // Two texts that differ in one word: in layer 0 the queries of the other positions still meet the
  // changed key, so columns move everywhere; but each row still sums to 1, and a column does not.
  const std::vector<float> data = MapAttention(server_, Query("the cat sat")).Data();
  double asymmetry = 0;
  for (size_t i = 0; i < 5; ++i) {
    double row = 0;
    double column = 0;
    for (size_t j = 0; j < 5; ++j) {
      row += data[i * 5 + j];
      column += data[j * 5 + i];
    }
    EXPECT_NEAR(row, 1.0, 1e-5);
    asymmetry += std::abs(column - 1.0);
  }
  EXPECT_GT(asymmetry, 1e-3);
}

TEST_F(AttentionMapTest, TheEmbeddingIsEncodesBitForBit) {
  v1::AttentionQuery query = Query("the dog ran fast");
  query.set_want_embedding(true);
  const MapResult map = MapAttention(server_, query);
  ASSERT_THAT(map.status, IsGrpcOk());
  const auto encoded = Encode(server_.stub(), {"the dog ran fast"});
  ASSERT_THAT(encoded.status, IsGrpcOk());
  const auto& expected = encoded.response.embeddings(0).values();
  EXPECT_THAT(map.response.embedding(), ::testing::ElementsAreArray(expected));
}

TEST_F(AttentionMapTest, SelectionsOutOfRangeOrGivenTwiceNameTheRange) {
  const std::vector<std::pair<int, std::string>> wrong = {{3, "query.layers"},
                                                          {-4, "query.layers"},
                                                          {INT32_MAX, "query.layers"},
                                                          {INT32_MIN, "query.layers"}};
  for (const auto& [layer, field] : wrong) {
    v1::AttentionQuery query = Query("cat");
    query.add_layers(layer);
    EXPECT_THAT(MapAttention(server_, query).status,
                GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, field));
  }
  v1::AttentionQuery twice = Query("cat");
  twice.add_heads(3);
  twice.add_heads(-1);
  EXPECT_THAT(MapAttention(server_, twice).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.heads"));
}

TEST_F(AttentionMapTest, ByteLimitOutOfRangeIsRefused) {
  v1::AttentionQuery query = Query("cat");
  query.set_max_bytes(0);
  EXPECT_THAT(MapAttention(server_, query).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.max_bytes is 0"));
  query.set_max_bytes(std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(MapAttention(server_, query).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.max_bytes"));
}

TEST_F(AttentionMapTest, ATextOverTheTokenLimitIsCutOnlyWhenAsked) {
  std::string longer;
  for (int i = 0; i < 70; ++i) longer += "cat ";
  EXPECT_THAT(MapAttention(server_, Query(longer)).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.text has more than 64"));
  v1::AttentionQuery query = Query(longer);
  query.set_truncation(v1::TRUNCATION_RIGHT);
  const MapResult cut = MapAttention(server_, query);
  ASSERT_THAT(cut.status, IsGrpcOk());
  EXPECT_TRUE(cut.response.truncated());
  EXPECT_EQ(cut.response.tokens_size(), 64);
}

// A model of BERT-base's 12 layers and 12 heads, where a map of 85 tokens is the largest that fits
// the 4 MiB a gRPC client takes by default.
class C48AttentionMapTest : public ::testing::Test {
 protected:
  C48AttentionMapTest() : model_(Options()), server_(TestOptions(model_.path())) {}

  static TinyModelOptions Options() {
    TinyModelOptions options;
    options.layers = 12;
    options.heads = 12;
    options.hidden = 48;
    options.max_positions = 128;
    return options;
  }

  static std::string TextOfTokens(int tokens) {
    std::string text;
    for (int i = 0; i < tokens - 2; ++i) text += "cat ";
    return text;
  }

  TinyModel model_;
  TestServer server_;
};

TEST_F(C48AttentionMapTest, EightyFiveTokensFitAClientsDefaultLimit) {
  // A channel without our own settings: gRPC's 4 MiB.
  const auto stub = v1::EncoderService::NewStub(
      grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials()));
  v1::AttentionMapRequest request;
  request.mutable_query()->set_text(TextOfTokens(85));
  v1::AttentionMapResponse response;
  const auto context = WithDeadline();
  EXPECT_THAT(stub->AttentionMap(context.get(), request, &response), IsGrpcOk());
  EXPECT_EQ(response.data().size(), 12u * 12 * 85 * 85 * 4);
}

TEST_F(C48AttentionMapTest, EightySixTokensAreRefusedBeforeAnythingIsComputed) {
  const int64_t before = server_.server().batches_run();
  const MapResult map = MapAttention(server_, Query(TextOfTokens(86)));
  EXPECT_THAT(map.status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.max_bytes allows 4194304"));
  EXPECT_THAT(map.status, GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "86 tokens needs"));
  EXPECT_EQ(server_.server().batches_run(), before);

  // And the server goes on.
  EXPECT_THAT(Encode(server_.stub(), {"cat"}).status, IsGrpcOk());
}

TEST_F(C48AttentionMapTest, ACallerWhoTakesMoreGetsMore) {
  v1::AttentionQuery query = Query(TextOfTokens(86));
  query.set_max_bytes(8 << 20);
  const MapResult map = MapAttention(server_, query);
  ASSERT_THAT(map.status, IsGrpcOk());
  EXPECT_EQ(map.response.data().size(), 12u * 12 * 86 * 86 * 4);
}

}  // namespace
}  // namespace attune
