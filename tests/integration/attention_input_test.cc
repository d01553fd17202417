// Token ids and vectors as the input of AttentionMap, through a running server: the maps of what a
// caller tokenised, or made up, itself.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/sha256.h"
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
using ::attune::testing::WithDeadline;
using ::testing::ElementsAreArray;
using ::testing::SizeIs;

const char* const kText = "the cat sat on a mat.";
const std::vector<std::string> kTokens = {"[CLS]", "the", "cat", "sat",  "on",
                                          "a",     "mat", ".",   "[SEP]"};
constexpr size_t kSeq = 9;
constexpr uint32_t kHidden = 16;

// Every form whose values do not ask what the template added.
const std::vector<std::string> kForms = {
    "",
    "matrix: ATTENTION_MATRIX_RAW_SCORES layers: 1",
    "matrix: ATTENTION_MATRIX_VALUE_NORM heads: [0, 2]",
    "matrix: ATTENTION_MATRIX_RES_LN_NORM mixing_ratio: true",
    "matrix: ATTENTION_MATRIX_ROLLOUT encoding: ATTENTION_ENCODING_U8",
    "matrix: ATTENTION_MATRIX_VALUE_ZEROING layers: 0",
    "matrix: ATTENTION_MATRIX_HIDDEN_SIMILARITY",
    "pooled_queries: true sparsity { top_k: 3 }",
    "ablate { layer: 0 head: 1 } want_embedding: true"};

class AttentionInputTest : public AttentionServerTest {
 protected:
  AttentionInputTest() : AttentionServerTest(2, 4) {}

  static v1::AttentionQuery Query(const std::string& options) {
    v1::AttentionQuery query;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(options, &query)) << options;
    return query;
  }
  v1::AttentionQuery OfText(const std::string& options) const {
    v1::AttentionQuery query = Query(options);
    query.set_text(kText);
    return query;
  }
  v1::AttentionQuery OfIds(const std::string& options) const {
    v1::AttentionQuery query = Query(options);
    for (const std::string& token : kTokens) {
      query.mutable_token_ids()->add_values(static_cast<uint32_t>(model_.TokenId(token)));
    }
    return query;
  }
  v1::AttentionQuery OfVectors(const std::string& options) const {
    v1::AttentionQuery query = Query(options);
    v1::Matrix& matrix = *query.mutable_vectors();
    matrix.set_rows(kSeq);
    matrix.set_cols(kHidden);
    for (const std::string& token : kTokens) {
      const std::vector<float> vector = model_.WordVector(token);
      matrix.mutable_values()->Add(vector.begin(), vector.end());
    }
    return query;
  }

  v1::AttentionMapResponse Map(const v1::AttentionQuery& query) {
    const MapResult map = MapAttention(server_, query);
    EXPECT_THAT(map.status, IsGrpcOk()) << query.ShortDebugString();
    return map.response;
  }

  // The same map as a stream, put together.
  v1::AttentionMapResponse Streamed(const v1::AttentionQuery& query) {
    v1::StreamAttentionMapRequest request;
    *request.mutable_query() = query;
    const auto context = WithDeadline();
    const auto reader = server_.stub().StreamAttentionMap(context.get(), request);
    v1::AttentionMapResponse map;
    v1::StreamAttentionMapResponse message;
    while (reader->Read(&message)) {
      if (message.has_header()) map = message.header();
      map.mutable_data()->append(message.chunk().data());
    }
    EXPECT_THAT(reader->Finish(), IsGrpcOk());
    return map;
  }

  void ExpectRefused(const v1::AttentionQuery& query, const std::string& message) {
    const int64_t before = server_.server().batches_run();
    EXPECT_THAT(MapAttention(server_, query).status,
                GrpcStatusIs(grpc::StatusCode::INVALID_ARGUMENT, message));
    EXPECT_EQ(server_.server().batches_run(), before) << message;
  }
};

TEST_F(AttentionInputTest, IdsAndVectorsGiveTheMapOfTheirTextBitForBit) {
  for (const std::string& form : kForms) {
    const v1::AttentionMapResponse text = Map(OfText(form));
    for (const v1::AttentionQuery& query : {OfIds(form), OfVectors(form)}) {
      const v1::AttentionMapResponse map = Map(query);
      EXPECT_EQ(map.data(), text.data()) << form;
      EXPECT_THAT(map.shape(), ElementsAreArray(text.shape())) << form;
      EXPECT_THAT(map.keys(), ElementsAreArray(text.keys())) << form;
      EXPECT_EQ(map.mixing_ratio(), text.mixing_ratio()) << form;
      EXPECT_THAT(map.embedding(), ElementsAreArray(text.embedding())) << form;
      EXPECT_EQ(map.movement().SerializeAsString(), text.movement().SerializeAsString()) << form;
      EXPECT_EQ(map.original_tokens(), kSeq) << form;
    }
  }
}

TEST_F(AttentionInputTest, StreamsTakeThemToo) {
  const std::string text = Map(OfText("")).data();
  EXPECT_EQ(Streamed(OfIds("")).data(), text);
  EXPECT_EQ(Streamed(OfVectors("")).data(), text);
}

TEST_F(AttentionInputTest, IdsHaveTheirTokensAndNoPlaceInAText) {
  const v1::AttentionMapResponse map = Map(OfIds("specials: ATTENTION_SPECIALS_DROP"));
  ASSERT_EQ(map.tokens_size(), static_cast<int>(kSeq));
  for (int i = 0; i < static_cast<int>(kSeq); ++i) {
    const v1::Token& token = map.tokens(i);
    EXPECT_EQ(token.text(), kTokens[static_cast<size_t>(i)]);
    EXPECT_EQ(token.id(), static_cast<uint32_t>(model_.TokenId(token.text())));
    EXPECT_EQ(token.byte_end(), 0u);
    EXPECT_EQ(token.word(), -1);
    EXPECT_FALSE(token.special());
  }
  // No template added any, so there is none to drop.
  EXPECT_EQ(map.keys_size(), static_cast<int>(kSeq));
  EXPECT_EQ(map.query().input_case(), v1::AttentionQuery::INPUT_NOT_SET);
  EXPECT_EQ(map.provenance().input_sha256(), Map(OfText("")).provenance().input_sha256());
}

TEST_F(AttentionInputTest, VectorsHaveNoTokens) {
  const v1::AttentionQuery query = OfVectors("statistics: true");
  const v1::AttentionMapResponse map = Map(query);
  EXPECT_EQ(map.tokens_size(), 0);
  EXPECT_EQ(map.statistics_size(), 8);
  EXPECT_EQ(map.statistics(0).punctuation_mass(), 0);
  EXPECT_EQ(map.query().input_case(), v1::AttentionQuery::INPUT_NOT_SET);
  const auto& values = query.vectors().values();
  EXPECT_EQ(map.provenance().input_sha256(),
            Sha256Hex({reinterpret_cast<const char*>(values.data()),
                       static_cast<size_t>(values.size()) * sizeof(float)}));
}

TEST_F(AttentionInputTest, AMaskedIdIsReadAsTheMask) {
  v1::AttentionQuery masked = OfIds("");
  masked.mutable_token_ids()->set_values(2, static_cast<uint32_t>(model_.TokenId("[MASK]")));
  EXPECT_EQ(Map(OfIds("mask_tokens: 2")).data(), Map(masked).data());
}

TEST_F(AttentionInputTest, ErasureTakesOutAnyIdAndAnyVector) {
  const std::string options = "matrix: ATTENTION_MATRIX_NONE erasure: TOKEN_ERASURE_REMOVE";
  const v1::AttentionMapResponse text = Map(OfText(options));
  for (const v1::AttentionQuery& query : {OfIds(options), OfVectors(options)}) {
    const v1::AttentionMapResponse map = Map(query);
    ASSERT_THAT(map.erasure(), SizeIs(kSeq));
    EXPECT_GT(map.erasure(0), 0);  // of a text [CLS] is the template's
    for (int i = 1; i + 1 < static_cast<int>(kSeq); ++i) {
      EXPECT_EQ(map.erasure(i), text.erasure(i)) << i;
    }
  }
}

TEST_F(AttentionInputTest, WrongIdsAndVectorsAreNamed) {
  v1::AttentionQuery ids;
  ids.mutable_token_ids();
  ExpectRefused(ids, "query.token_ids is empty");
  ids.mutable_token_ids()->mutable_values()->Resize(65, 1);
  ExpectRefused(ids, "query.token_ids has 65 ids; the limit is 64");
  ids = OfIds("");
  ids.mutable_token_ids()->set_values(3, 23);
  ExpectRefused(ids, "query.token_ids.values[3] is 23; it must be below 23");

  v1::AttentionQuery vectors;
  vectors.mutable_vectors();
  ExpectRefused(vectors, "query.vectors is empty");
  vectors = OfVectors("");
  vectors.mutable_vectors()->set_rows(kSeq + 1);
  ExpectRefused(vectors, "query.vectors has 10 rows and 16 cols, but 144 values");
  vectors.mutable_vectors()->set_rows(18);
  vectors.mutable_vectors()->set_cols(8);
  ExpectRefused(vectors, "query.vectors has 8 cols; the model takes 16");
  vectors = OfVectors("");
  vectors.mutable_vectors()->set_values(20, std::numeric_limits<float>::infinity());
  ExpectRefused(vectors, "query.vectors.values[20] is inf; it must be finite");
}

TEST_F(AttentionInputTest, WhatNeedsATextIsRefusedByField) {
  ExpectRefused(OfIds("level: ATTENTION_LEVEL_WORD"),
                "query.level WORD does not go with query.token_ids");
  ExpectRefused(OfVectors("level: ATTENTION_LEVEL_WORD"),
                "query.level WORD does not go with query.vectors");
  ExpectRefused(OfIds("spans { begin: 0 end: 1 }"), "query.spans does not go with query.token_ids");
  ExpectRefused(OfIds("block: ATTENTION_BLOCK_AB"), "query.block needs query.text_pair");
  ExpectRefused(OfVectors("mask_tokens: 1"), "query.mask_tokens does not go with query.vectors");
  ExpectRefused(OfVectors("erasure: TOKEN_ERASURE_MASK"),
                "query.erasure MASK does not go with query.vectors");
}

// Vectors are larger than any text: they must not count as part of the reply.
TEST_F(AttentionInputTest, TheInputTakesNoRoomInTheReply) {
  const v1::AttentionMapResponse map = Map(OfVectors(""));
  EXPECT_THAT(
      MapAttention(server_, OfVectors(absl::StrCat("max_bytes: ", map.ByteSizeLong() + 4096)))
          .status,
      IsGrpcOk());
}

}  // namespace
}  // namespace attune
