// StreamAttentionMap through a running server.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/crc32c.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
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
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20;

v1::StreamAttentionMapRequest Request(const std::string& query) {
  v1::StreamAttentionMapRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(query, request.mutable_query()))
      << query;
  return request;
}

// A stream put together again.
struct Streamed {
  grpc::Status status;
  v1::AttentionMapResponse map;  // the header, with the chunks' arrays in it
  v1::AttentionTrailer trailer;
  uint64_t chunks = 0;
  uint64_t rows = 0;
  uint32_t crc32c = 0;
  uint64_t largest_chunk = 0;
};

// Appends a chunk, which must begin where the last one ended.
void Append(const v1::AttentionChunk& chunk, Streamed& streamed) {
  v1::AttentionMapResponse& map = streamed.map;
  const uint64_t rows_per_layer = map.shape(1) * map.shape(2);
  EXPECT_EQ(chunk.layer(), map.layers(static_cast<int>(streamed.rows / rows_per_layer)));
  EXPECT_EQ(chunk.first_head() * map.shape(2) + chunk.first_row(), streamed.rows % rows_per_layer);
  EXPECT_GT(chunk.rows(), 0u);
  ++streamed.chunks;
  streamed.rows += chunk.rows();
  streamed.crc32c = ExtendCrc32c(streamed.crc32c, chunk.data());
  streamed.largest_chunk = std::max<uint64_t>(streamed.largest_chunk, chunk.ByteSizeLong());
  map.mutable_data()->append(chunk.data());
  map.mutable_row_scales()->append(chunk.row_scales());
  map.mutable_kept_mass()->append(chunk.kept_mass());
  if (!chunk.has_sparse()) return;
  map.mutable_sparse()->mutable_row_lengths()->append(chunk.sparse().row_lengths());
  map.mutable_sparse()->mutable_columns()->append(chunk.sparse().columns());
}

Streamed Stream(v1::EncoderService::Stub& stub, const std::string& query) {
  Streamed streamed;
  const auto context = WithDeadline();
  const auto reader = stub.StreamAttentionMap(context.get(), Request(query));
  v1::StreamAttentionMapResponse message;
  while (reader->Read(&message)) {
    switch (message.part_case()) {
      case v1::StreamAttentionMapResponse::kHeader:
        EXPECT_EQ(streamed.chunks, 0u);
        EXPECT_THAT(message.header().data(), IsEmpty());
        streamed.map = message.header();
        break;
      case v1::StreamAttentionMapResponse::kChunk:
        Append(message.chunk(), streamed);
        break;
      default:
        streamed.trailer = message.trailer();
        break;
    }
  }
  streamed.status = reader->Finish();
  return streamed;
}

class AttentionStreamTest : public AttentionServerTest {
 protected:
  AttentionStreamTest() : AttentionServerTest(3, 4) {}
};

TEST_F(AttentionStreamTest, EveryFormIsTheUnaryMapBitForBit) {
  for (const std::string form :
       {"", "encoding: ATTENTION_ENCODING_F16", "encoding: ATTENTION_ENCODING_U8",
        "sparsity { top_k: 3 }", "sparsity { mass: 0.6 } encoding: ATTENTION_ENCODING_U8",
        "pool { size: 3 }", "level: ATTENTION_LEVEL_WORD specials: ATTENTION_SPECIALS_RENORMALISE",
        "matrix: ATTENTION_MATRIX_RES_LN_NORM", "matrix: ATTENTION_MATRIX_ROLLOUT layers: [0, 2]",
        "matrix: ATTENTION_MATRIX_FLOW layers: [1, 2]", "matrix: ATTENTION_MATRIX_VALUE_ZEROING",
        "matrix: ATTENTION_MATRIX_HIDDEN_SIMILARITY layers: 1", "layers: 1 heads: [0, 3]",
        "ablate { layer: 0 head: 1 } mask_tokens: 2", "matrix: ATTENTION_MATRIX_RAW_SCORES"}) {
    const std::string query = "text: 'the cats sat on a mat.' " + form;
    const Streamed streamed = Stream(server_.stub(), query);
    ASSERT_THAT(streamed.status, IsGrpcOk()) << form;
    const MapResult unary = MapAttention(server_, query);
    ASSERT_THAT(unary.status, IsGrpcOk()) << form;
    v1::AttentionMapResponse expected = unary.response;
    expected.clear_movement();
    EXPECT_EQ(streamed.map.SerializeAsString(), expected.SerializeAsString()) << form;
    EXPECT_EQ(streamed.trailer.chunks(), streamed.chunks) << form;
    EXPECT_EQ(streamed.trailer.rows(), streamed.rows) << form;
    EXPECT_EQ(streamed.trailer.crc32c(), streamed.crc32c) << form;
  }
}

TEST_F(AttentionStreamTest, TheTrailerHasWhatOnlyTheWholePassKnows) {
  const std::string query =
      "text: 'the cat sat' statistics: true mixing_ratio: true want_embedding: true layers: 1";
  const Streamed streamed = Stream(server_.stub(), query);
  ASSERT_THAT(streamed.status, IsGrpcOk());
  const MapResult unary = MapAttention(server_, query);
  ASSERT_EQ(streamed.trailer.statistics_size(), 4);
  EXPECT_EQ(streamed.trailer.statistics(2).SerializeAsString(),
            unary.response.statistics(2).SerializeAsString());
  EXPECT_EQ(streamed.trailer.mixing_ratio(), unary.response.mixing_ratio());
  EXPECT_THAT(
      streamed.trailer.embedding(),
      ElementsAreArray(Encode(server_.stub(), {"the cat sat"}).response.embeddings(0).values()));
}

TEST_F(AttentionStreamTest, RefusesWhatNeedsEveryLayerFirst) {
  EXPECT_THAT(
      Stream(server_.stub(), "text: 'cat' layer_reduction: ATTENTION_REDUCTION_MEAN").status,
      GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.layer_reduction"));
  EXPECT_THAT(Stream(server_.stub(), "text: 'cat' erasure: TOKEN_ERASURE_REMOVE").status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.erasure"));
  EXPECT_THAT(Stream(server_.stub(), "text: 'cat' heads: 9").status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.heads"));
  EXPECT_THAT(Stream(server_.stub(), "").status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "query.input is not set"));
}

// What a client has seen the end of holds nothing any more, or its next request could be refused
// for its last.
TEST(AttentionBudgetTest, RequestsInTurnEachFindItFree) {
  const TinyModel model(TinyModelOptions{});
  ServerOptions options = TestOptions(model.path());
  options.max_attention_reply_bytes = int64_t{1} << 20;
  options.attention_budget_bytes = int64_t{3} << 20;  // a stream of a short text takes over 2 MiB
  TestServer server(options);
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(Stream(server.stub(), "text: 'the cat sat'").status, IsGrpcOk()) << i;
  }
  // A map of 62 tokens takes over 200,000.
  std::string words;
  for (int i = 0; i < 60; ++i) words += "cat ";
  options.max_attention_reply_bytes = options.attention_budget_bytes = 300'000;
  TestServer small_server(options);
  const std::string query = "text: '" + words + "'";
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(MapAttention(small_server, query).status, IsGrpcOk()) << i;
  }
}

// BERT-base's layers and heads at 512 tokens: 144 MiB of weights, 12 MiB a layer.
class LongAttentionStreamTest : public ::testing::Test {
 protected:
  LongAttentionStreamTest() : model_(Options()) {}

  static TinyModelOptions Options() {
    TinyModelOptions options;
    options.layers = 12;
    options.heads = 12;
    options.hidden = 48;
    options.max_positions = 512;
    return options;
  }

  // Room for one layer, its rows and what makes them, and not for three.
  ServerOptions OneStreamOptions() const {
    ServerOptions options = TestOptions(model_.path());
    options.max_attention_reply_bytes = int64_t{8} << 20;
    options.attention_budget_bytes = int64_t{48} << 20;
    return options;
  }

  static std::string TextOf512Tokens() {
    std::string text;
    for (int i = 0; i < 255; ++i) text += "the cat ";
    return "text: '" + text + "' ";
  }

  TinyModel model_;
};

TEST_F(LongAttentionStreamTest, AMapOfAnySizeFitsTheMemoryOfALayer) {
  TestServer server(OneStreamOptions());
  const Streamed streamed = Stream(server.stub(), TextOf512Tokens());
  ASSERT_THAT(streamed.status, IsGrpcOk());
  EXPECT_EQ(streamed.map.data().size(), 144 * kMiB);
  EXPECT_LE(streamed.largest_chunk, kMiB);
  EXPECT_EQ(streamed.trailer.chunks(), streamed.chunks);
  EXPECT_EQ(streamed.trailer.rows(), 12u * 12 * 512);
  EXPECT_EQ(streamed.trailer.crc32c(), streamed.crc32c);

  const MapResult slice = MapAttention(server, TextOf512Tokens() + "layers: 7 heads: 5");
  ASSERT_THAT(slice.status, IsGrpcOk());
  EXPECT_EQ(streamed.map.data().substr((7 * 12 + 5) * kMiB, kMiB), slice.response.data());
}

TEST_F(LongAttentionStreamTest, ACancelledStreamGivesItsMemoryBack) {
  TestServer server(OneStreamOptions());
  {
    const auto context = WithDeadline();
    const auto reader = server.stub().StreamAttentionMap(context.get(), Request(TextOf512Tokens()));
    v1::StreamAttentionMapResponse message;
    ASSERT_TRUE(reader->Read(&message));
    EXPECT_TRUE(message.has_header());
    EXPECT_THAT(Stream(server.stub(), TextOf512Tokens()).status,
                GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "try again later"));
    context->TryCancel();
    while (reader->Read(&message)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // The server sees the end a moment after the client.
  grpc::Status status;
  do {
    status = Stream(server.stub(), TextOf512Tokens() + "layers: 0 heads: 0").status;
  } while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status, IsGrpcOk());
}

TEST_F(LongAttentionStreamTest, AClientThatTakesNothingIsCancelled) {
  ServerOptions options = OneStreamOptions();
  options.stream_stall_timeout = absl::Milliseconds(300);
  TestServer server(options);
  // A window that the transport does not widen: the server's writes wait for the client's reads.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::EncoderService::NewStub(
      grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments));
  const auto context = WithDeadline();
  const auto reader = stub->StreamAttentionMap(context.get(), Request(TextOf512Tokens()));
  v1::StreamAttentionMapResponse message;
  ASSERT_TRUE(reader->Read(&message));
  EXPECT_TRUE(message.has_header());
  // Until the stalled stream has given its memory back, there is none for another.
  grpc::Status status;
  do {
    status = Stream(server.stub(), TextOf512Tokens() + "layers: 0 heads: 0").status;
  } while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status, IsGrpcOk());
  while (reader->Read(&message)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace attune
