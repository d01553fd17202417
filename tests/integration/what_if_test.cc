// What-if questions to a running server: heads ablated, tokens masked or erased, and how far that
// moves the embedding.

#include <cmath>
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
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::MapAttention;
using ::attune::testing::MapResult;
using ::attune::testing::TestOptions;
using ::attune::testing::TestServer;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// [CLS] the cat sat on a mat [SEP]
const char* const kText = "text: 'the cat sat on a mat' ";
constexpr size_t kSeq = 8;
constexpr size_t kCells = kSeq * kSeq;

template <typename Values>
double Cosine(const Values& a, const Values& b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (int i = 0; i < static_cast<int>(a.size()); ++i) {
    dot += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  return dot / std::sqrt(aa * bb);
}

class WhatIfTest : public AttentionServerTest {
 protected:
  WhatIfTest() : AttentionServerTest(2, 4) {}

  MapResult Map(const std::string& options) {
    MapResult map = MapAttention(server_, kText + options);
    EXPECT_THAT(map.status, IsGrpcOk()) << options;
    return map;
  }

  google::protobuf::RepeatedField<float> EncodeText(const std::string& text) {
    return Encode(server_.stub(), {text}).response.embeddings(0).values();
  }

  void ExpectRefused(const std::string& options, const std::string& part) {
    EXPECT_THAT(MapAttention(server_, kText + options).status,
                GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, part))
        << options;
  }
};

TEST_F(WhatIfTest, NothingAblatedMovesNothingAndTellsNothing) {
  const MapResult map = Map("want_embedding: true");
  EXPECT_FALSE(map.response.has_movement());
  EXPECT_THAT(map.response.embedding(), ElementsAreArray(EncodeText("the cat sat on a mat")));
}

TEST_F(WhatIfTest, AnAblatedHeadShowsItsNewWeightsAndMovesTheEmbedding) {
  const std::vector<float> before = Map("").Data();
  const MapResult map =
      Map("want_embedding: true ablate { layer: 0 head: 1 } ablate { layer: 0 head: 3 mode: "
          "MODE_UNIFORM }");
  const std::vector<float> after = map.Data();
  for (size_t cell = 0; cell < kCells; ++cell) {
    EXPECT_EQ(after[cell], before[cell]);
    EXPECT_EQ(after[kCells + cell], 0);
    EXPECT_NEAR(after[3 * kCells + cell], 1.0 / kSeq, 1e-7);
  }
  EXPECT_NE(std::vector<float>(after.begin() + 4 * kCells, after.end()),
            std::vector<float>(before.begin() + 4 * kCells, before.end()));

  const v1::EmbeddingMovement& movement = map.response.movement();
  EXPECT_THAT(movement.baseline(), ElementsAreArray(EncodeText("the cat sat on a mat")));
  EXPECT_GT(movement.cosine_distance(), 0);
  EXPECT_NEAR(movement.cosine_distance(), 1 - Cosine(map.response.embedding(), movement.baseline()),
              1e-12);
  // The tiny model's vectors have length 1, where |a - b|^2 = 2 (1 - cosine).
  EXPECT_NEAR(movement.l2_distance() * movement.l2_distance(), 2 * movement.cosine_distance(),
              1e-5);
}

TEST_F(WhatIfTest, MovementNeedsNoMatrixAndNoVectors) {
  const MapResult map = Map("matrix: ATTENTION_MATRIX_NONE ablate { layer: -1 }");
  EXPECT_GT(map.response.movement().cosine_distance(), 0);
  EXPECT_THAT(map.response.movement().baseline(), IsEmpty());
  EXPECT_THAT(map.response.embedding(), IsEmpty());
  EXPECT_THAT(map.response.data(), IsEmpty());
}

TEST_F(WhatIfTest, MaskedTokensAreReadAsTheMask) {
  const MapResult map = Map("want_embedding: true mask_tokens: 2");
  EXPECT_THAT(map.response.embedding(), ElementsAreArray(EncodeText("the [MASK] sat on a mat")));
  EXPECT_THAT(map.response.movement().baseline(),
              ElementsAreArray(EncodeText("the cat sat on a mat")));
  EXPECT_EQ(map.response.tokens(2).text(), "cat");
  EXPECT_EQ(map.response.provenance().input_sha256(),
            MapAttention(server_, std::string("text: 'the [MASK] sat on a mat'"))
                .response.provenance()
                .input_sha256());
}

TEST_F(WhatIfTest, ErasureIsTheDistanceOfTheTextWithoutTheToken) {
  const auto whole = EncodeText("the cat sat on a mat");
  const MapResult removed = Map("matrix: ATTENTION_MATRIX_NONE erasure: TOKEN_ERASURE_REMOVE");
  ASSERT_THAT(removed.response.erasure(), SizeIs(kSeq));
  EXPECT_EQ(removed.response.erasure(0), 0);
  EXPECT_EQ(removed.response.erasure(kSeq - 1), 0);
  EXPECT_NEAR(removed.response.erasure(2), 1 - Cosine(whole, EncodeText("the sat on a mat")), 1e-6);
  EXPECT_NEAR(removed.response.erasure(6), 1 - Cosine(whole, EncodeText("the cat sat on a")), 1e-6);

  const MapResult masked = Map("matrix: ATTENTION_MATRIX_NONE erasure: TOKEN_ERASURE_MASK");
  EXPECT_NEAR(masked.response.erasure(3), 1 - Cosine(whole, EncodeText("the cat [MASK] on a mat")),
              1e-6);
}

TEST_F(WhatIfTest, WrongChangesAreRefusedByField) {
  ExpectRefused("ablate { layer: 2 }", "query.ablate[0].layer holds 2; valid are 0 to 1");
  ExpectRefused("ablate { layer: 0 head: 4 }", "query.ablate[0].head holds 4");
  ExpectRefused("ablate { layer: 0 } ablate { layer: -2 head: 1 mode: MODE_UNIFORM }",
                "query.ablate[1] holds head 1 of layer 0, which was given before");
  ExpectRefused("mask_tokens: 8", "query.mask_tokens[0] is 8; give numbers from 0 to 7");
  ExpectRefused("mask_tokens: [1, 1]", "query.mask_tokens[1] is 1");
}

TEST(ErasureTest, HasALimit) {
  TinyModelOptions options;
  options.max_positions = 512;
  const TinyModel model(options);
  TestServer longer(TestOptions(model.path()));
  std::string text = "text: '";
  for (int i = 0; i < 257; ++i) text += "cat ";
  EXPECT_THAT(MapAttention(longer, text + "' matrix: ATTENTION_MATRIX_NONE erasure: "
                                          "TOKEN_ERASURE_REMOVE")
                  .status,
              GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT,
                           "query.erasure takes texts of at most 256 tokens; this one has 257"));
}

}  // namespace
}  // namespace attune
