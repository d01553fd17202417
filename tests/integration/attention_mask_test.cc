// Causal and window masks through a running server: which tokens may look at which, and what that
// does to the vectors.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::AttentionServerTest;
using ::attune::testing::Encode;
using ::attune::testing::EncodeResult;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::MapAttention;
using ::attune::testing::MapResult;
using ::attune::testing::WithDeadline;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

// [CLS] the cat sat on a mat [SEP]
const char* const kText = "the cat sat on a mat";
constexpr size_t kSeq = 8;
constexpr size_t kCells = kSeq * kSeq;
constexpr size_t kHeads = 4;
const char* const kCausal = "mask { causal {} } ";
const char* const kWindow = "mask { window { left: 2 right: 1 } } ";

class AttentionMaskTest : public AttentionServerTest {
 protected:
  AttentionMaskTest() : AttentionServerTest(2, kHeads) {}

  MapResult Map(const std::string& options) {
    MapResult map = MapAttention(server_, "text: '" + std::string(kText) + "' " + options);
    EXPECT_THAT(map.status, IsGrpcOk()) << options;
    return map;
  }

  static v1::EncodeOptions Options(const std::string& text) {
    v1::EncodeOptions options;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options)) << text;
    return options;
  }
  std::vector<float> EncodeText(const std::string& text, const std::string& options) {
    const EncodeResult result = Encode(server_.stub(), {text}, Options(options));
    EXPECT_THAT(result.status, IsGrpcOk()) << options;
    const auto& values = result.response.embeddings(0).values();
    return {values.begin(), values.end()};
  }
};

TEST_F(AttentionMaskTest, WeightsOutsideTheMaskAreExactlyZeroAndRowsSumToOne) {
  const std::vector<float> causal = Map(kCausal).Data();
  const std::vector<float> window = Map(kWindow).Data();
  ASSERT_THAT(causal, SizeIs(2 * kHeads * kCells));
  for (size_t cell = 0; cell < causal.size(); ++cell) {
    const size_t i = cell % kCells / kSeq;
    const size_t j = cell % kSeq;
    EXPECT_EQ(causal[cell] > 0, j <= i) << cell;
    EXPECT_EQ(window[cell] > 0, j + 2 >= i && j <= i + 1) << cell;
  }
  for (size_t row = 0; row < causal.size(); row += kSeq) {
    EXPECT_NEAR(std::accumulate(causal.begin() + row, causal.begin() + row + kSeq, 0.0), 1, 1e-5);
    EXPECT_NEAR(std::accumulate(window.begin() + row, window.begin() + row + kSeq, 0.0), 1, 1e-5);
  }
  EXPECT_EQ(causal[0], 1);  // the first token sees itself alone
}

TEST_F(AttentionMaskTest, CausalIsAWindowWithoutAnythingAfter) {
  EXPECT_EQ(Map("mask { window { left: 7 right: 0 } }").response.data(),
            Map(kCausal).response.data());
}

TEST_F(AttentionMaskTest, AMaskThatHidesNothingChangesNoBit) {
  EXPECT_EQ(Map("mask { window { left: 4294967295 right: 4294967295 } }").response.data(),
            Map("").response.data());
  EXPECT_EQ(EncodeText(kText, "mask { window { left: 7 right: 7 } }"), EncodeText(kText, ""));
}

TEST_F(AttentionMaskTest, ScoresAreThoseBeforeTheMask) {
  const std::string scores = "matrix: ATTENTION_MATRIX_RAW_SCORES layers: 0 ";
  EXPECT_EQ(Map(scores + kCausal).response.data(), Map(scores).response.data());
}

TEST_F(AttentionMaskTest, UnderACausalMaskTheFirstTokensVectorIsThatOfNoText) {
  const std::string options = std::string(kCausal) + "pooling: POOLING_CLS";
  const std::vector<float> vector = EncodeText(kText, options);
  const std::vector<float> other = EncodeText("hello world!", options);
  for (size_t k = 0; k < vector.size(); ++k) EXPECT_NEAR(vector[k], other[k], 1e-6);
  EXPECT_NE(EncodeText(kText, "pooling: POOLING_CLS"), vector);
}

TEST_F(AttentionMaskTest, AVectorDoesNotDependOnItsBatch) {
  const std::vector<std::string> texts = {kText, "hello", "a dog ran fast, the cat sat.", ""};
  for (const std::string mask : {kCausal, kWindow}) {
    const EncodeResult together = Encode(server_.stub(), texts, Options(mask));
    ASSERT_THAT(together.status, IsGrpcOk());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_THAT(together.response.embeddings(static_cast<int>(i)).values(),
                  ElementsAreArray(EncodeText(texts[i], mask)))
          << mask << i;
    }
  }
}

TEST_F(AttentionMaskTest, TheMovementIsTheDistanceFromTheVectorWithoutTheMask) {
  for (const std::string mask : {kCausal, kWindow}) {
    const MapResult map = Map("want_embedding: true " + mask);
    EXPECT_THAT(map.response.embedding(), ElementsAreArray(EncodeText(kText, mask)));
    const v1::EmbeddingMovement& movement = map.response.movement();
    EXPECT_THAT(movement.baseline(), ElementsAreArray(EncodeText(kText, "")));
    EXPECT_GT(movement.cosine_distance(), 0);
    EXPECT_TRUE(map.response.query().has_mask());
  }
}

TEST_F(AttentionMaskTest, AUniformHeadIsUniformOverWhatTheMaskLetsSee) {
  const MapResult map = Map("layers: 0 heads: 1 ablate { layer: 0 head: 1 mode: MODE_UNIFORM } " +
                            std::string(kCausal));
  for (size_t i = 0; i < kSeq; ++i) {
    for (size_t j = 0; j < kSeq; ++j) {
      EXPECT_FLOAT_EQ(map.Data()[i * kSeq + j], j <= i ? 1 / static_cast<float>(i + 1) : 0.0f);
    }
  }
}

// What is made of the weights keeps to the mask: layer after layer, nothing comes from later
// tokens.
TEST_F(AttentionMaskTest, NothingFlowsAgainstACausalMask) {
  for (const std::string matrix : {"ATTN_NORM", "ROLLOUT", "FLOW", "VALUE_ZEROING"}) {
    const std::vector<float> map = Map("matrix: ATTENTION_MATRIX_" + matrix + " " + kCausal).Data();
    for (size_t cell = 0; cell < map.size(); ++cell) {
      const size_t i = cell % kCells / kSeq;
      const size_t j = cell % kSeq;
      if (j > i) {
        EXPECT_EQ(map[cell], 0) << matrix << ", from " << i << " to " << j;
      }
    }
  }
}

TEST_F(AttentionMaskTest, ErasureIsUnderTheMaskToo) {
  const std::string erase = "matrix: ATTENTION_MATRIX_NONE erasure: TOKEN_ERASURE_REMOVE ";
  const MapResult masked = Map(erase + kCausal);
  const std::vector<float> whole = EncodeText(kText, kCausal);
  const std::vector<float> rest = EncodeText("the sat on a mat", kCausal);
  // The tiny model's vectors have length 1.
  const double cosine = std::inner_product(whole.begin(), whole.end(), rest.begin(), 0.0);
  EXPECT_NEAR(masked.response.erasure(2), 1 - cosine, 1e-6);
}

TEST_F(AttentionMaskTest, StreamsTakeMasks) {
  v1::StreamAttentionMapRequest request;
  request.mutable_query()->set_text(kText);
  request.mutable_query()->mutable_mask()->mutable_causal();
  const auto context = WithDeadline();
  const auto reader = server_.stub().StreamAttentionMap(context.get(), request);
  std::string data;
  v1::StreamAttentionMapResponse part;
  while (reader->Read(&part)) data += part.chunk().data();
  EXPECT_THAT(reader->Finish(), IsGrpcOk());
  EXPECT_EQ(data, Map(kCausal).response.data());

  const auto encode_context = WithDeadline();
  const auto stream = server_.stub().StreamEncode(encode_context.get());
  v1::StreamEncodeRequest item;
  item.set_text(kText);
  *item.mutable_options() = Options(kWindow);
  ASSERT_TRUE(stream->Write(item));
  stream->WritesDone();
  v1::StreamEncodeResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_THAT(answer.embedding().values(), ElementsAreArray(EncodeText(kText, kWindow)));
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
}

TEST_F(AttentionMaskTest, AMaskOfNoKindIsRefused) {
  EXPECT_THAT(MapAttention(server_, std::string("text: 'cat' mask {}")).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "query.mask is of no kind; it must be one of causal and window"));
  EXPECT_THAT(Encode(server_.stub(), {"cat"}, Options("mask {}")).status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, "options.mask is of no kind"));
}

}  // namespace
}  // namespace attune
