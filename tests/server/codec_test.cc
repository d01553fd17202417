#include <limits>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/codec/attend_codec.h"
#include "server/codec/attention_codec.h"
#include "server/codec/encode_codec.h"
#include "server/codec/model_codec.h"
#include "tests/support/status_matchers.h"

namespace attune {
namespace {

using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

TEST(EncodeCodecTest, BorrowsTextsAndKeepsTheirNuls) {
  v1::EncodeRequest request;
  request.mutable_texts()->add_values(std::string("a\0b", 3));
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput input, DecodeEncodeRequest(request));
  ASSERT_EQ(input.texts.size(), 1u);
  EXPECT_EQ(input.texts[0].size(), 3u);
  EXPECT_EQ(input.texts[0].data(), request.texts().values(0).data());
}

TEST(EncodeCodecTest, KeepsPairsInOrderAndTheirTextsApart) {
  const auto request = Parse<v1::EncodeRequest>(
      "text_pairs { values { first: 'a' second: 'b' } values { second: 'c' } }");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput input, DecodeEncodeRequest(request));
  EXPECT_EQ(input.kind, EncodeInput::Kind::kTextPairs);
  ASSERT_EQ(input.text_pairs.size(), 2u);
  EXPECT_EQ(input.text_pairs[0].first, "a");
  EXPECT_EQ(input.text_pairs[0].second, "b");
  EXPECT_EQ(input.text_pairs[1].first, "");
  EXPECT_EQ(input.text_pairs[1].second, "c");
}

TEST(EncodeCodecTest, BorrowsVectorsAndChecksThatTheyFillTheirShape) {
  auto request = Parse<v1::EncodeRequest>(
      "vectors { values { rows: 1 cols: 2 values: [1, 2] } values { rows: 2 cols: 2 values: [3] } "
      "}");
  EXPECT_THAT(DecodeEncodeRequest(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("vectors.values[1] has 2 rows and 2 cols, but 1 values")));
  request.mutable_vectors()->mutable_values()->RemoveLast();
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput input, DecodeEncodeRequest(request));
  ASSERT_EQ(input.vectors.size(), 1u);
  EXPECT_EQ(input.vectors[0].data, request.vectors().values(0).values().data());
  EXPECT_EQ(input.vectors[0].cols, 2);
}

TEST(EncodeCodecTest, TellsAbsentFromZero) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const EncodeInput absent,
      DecodeEncodeRequest(Parse<v1::EncodeRequest>("texts { values: 'a' }")));
  EXPECT_FALSE(absent.policy.max_tokens.has_value());
  EXPECT_FALSE(absent.normalize.has_value());
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const EncodeInput zero,
      DecodeEncodeRequest(Parse<v1::EncodeRequest>(
          "texts { values: 'a' } options { max_tokens: 0 normalize: false }")));
  EXPECT_EQ(zero.policy.max_tokens, 0);
  EXPECT_EQ(zero.normalize, false);
}

TEST(EncodeCodecTest, RefusesEachFieldThatIsNotBuiltByName) {
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"texts { values: 'a' } options { prompt: 'p' }", "options.prompt"},
      {"texts { values: 'a' } options { prompt_name: 'p' }", "options.prompt_name"},
      {"texts { values: 'a' } options { dimensions: 8 }", "options.dimensions"},
      {"texts { values: 'a' } options { output_format: OUTPUT_FORMAT_INT8 }",
       "options.output_format"},
  };
  for (const auto& [text, field] : fields) {
    EXPECT_THAT(DecodeEncodeRequest(Parse<v1::EncodeRequest>(text)),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(field)));
  }
}

TEST(EncodeCodecTest, RefusesEnumNumbersThatTheContractDoesNotHave) {
  v1::EncodeRequest request = Parse<v1::EncodeRequest>("texts { values: 'a' }");
  request.mutable_options()->set_pooling(static_cast<v1::Pooling>(99));
  EXPECT_THAT(DecodeEncodeRequest(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("options.pooling is 99")));
  request.mutable_options()->set_pooling(v1::POOLING_MEAN);
  request.mutable_options()->set_truncation(static_cast<v1::Truncation>(-1));
  EXPECT_THAT(DecodeEncodeRequest(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("options.truncation is -1")));
}

TEST(EncodeCodecTest, NeedsExactlyOneInput) {
  EXPECT_THAT(DecodeEncodeRequest(v1::EncodeRequest()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input is not set")));
  EXPECT_THAT(DecodeEncodeRequest(Parse<v1::EncodeRequest>("texts {}")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("texts.values is empty")));
}

TEST(AttentionCodecTest, TakesOneOfFourInputs) {
  const auto pair_query = Parse<v1::AttentionQuery>("text_pair { first: 'a' second: 'b' }");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttentionInput text, DecodeAttentionQuery(pair_query));
  EXPECT_TRUE(text.has_text());
  EXPECT_EQ(text.second_text, "b");
  const auto ids_query = Parse<v1::AttentionQuery>("token_ids { values: [7, 9] }");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttentionInput ids, DecodeAttentionQuery(ids_query));
  EXPECT_FALSE(ids.has_text());
  EXPECT_THAT(*ids.token_ids, ElementsAre(7, 9));
  const auto vectors_query =
      Parse<v1::AttentionQuery>("vectors { rows: 1 cols: 2 values: [3, 4] }");
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttentionInput vectors, DecodeAttentionQuery(vectors_query));
  EXPECT_FALSE(vectors.has_text());
  EXPECT_THAT(vectors.vectors->row(0), ElementsAre(3, 4));
  EXPECT_THAT(DecodeAttentionQuery(v1::AttentionQuery()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.input is not set")));
  EXPECT_THAT(DecodeAttentionQuery(Parse<v1::AttentionQuery>("vectors { rows: 1 cols: 2 }")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("query.vectors has 1 rows and 2 cols, but 0 values")));
}

TEST(EncodeCodecTest, MasksAreWindows) {
  const auto window_of = [](const std::string& mask) {
    return DecodeEncodeRequest(
        Parse<v1::EncodeRequest>("texts { values: 'a' } options { " + mask + " }"));
  };
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput none, window_of(""));
  EXPECT_TRUE(none.window.is_all());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput causal, window_of("mask { causal {} }"));
  EXPECT_EQ(causal.window.before, AttentionWindow::kUnlimited);
  EXPECT_EQ(causal.window.after, 0);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const EncodeInput window,
                              window_of("mask { window { right: 4294967295 } }"));
  EXPECT_EQ(window.window.before, 0);
  EXPECT_EQ(window.window.after, 4294967295);
  EXPECT_THAT(window_of("mask {}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("options.mask is of no kind; it must be one of")));
  EXPECT_THAT(DecodeAttentionQuery(Parse<v1::AttentionQuery>("text: 'a' mask {}")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.mask is of no kind")));
}

TEST(AttentionCodecTest, RefusesUnknownEnumNumbers) {
  for (const std::string field :
       {"matrix", "head_reduction", "layer_reduction", "level", "specials", "specials_axes",
        "block", "encoding", "truncation", "erasure"}) {
    EXPECT_THAT(
        DecodeAttentionQuery(Parse<v1::AttentionQuery>("text: 'a' " + field + ": 77")),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query." + field + " is 77")));
  }
  EXPECT_THAT(
      DecodeAttentionQuery(Parse<v1::AttentionQuery>("text: 'a' ablate {} ablate { mode: 9 }")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.ablate[1].mode is 9")));
  EXPECT_THAT(DecodeAttentionQuery(Parse<v1::AttentionQuery>("text: 'a' pool { reduction: 9 }")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("query.pool.reduction is 9")));
}

TEST(AttentionCodecTest, PicturesAre32CellsOfTheMaximumByDefault) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttentionInput input,
                              DecodeAttentionQuery(Parse<v1::AttentionQuery>("text: 'a' pool {}")));
  ASSERT_TRUE(input.map.pool.has_value());
  EXPECT_EQ(input.map.pool->size, 32);
  EXPECT_EQ(input.map.pool->reduction, MapReduction::kMax);
}

TEST(AttentionCodecTest, TellsAHeadFromAllOfThem) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const AttentionInput input,
      DecodeAttentionQuery(Parse<v1::AttentionQuery>(
          "text: 'a' ablate { layer: -1 head: 0 mode: MODE_UNIFORM } ablate { layer: 2 }")));
  ASSERT_EQ(input.ablate.size(), 2u);
  EXPECT_EQ(input.ablate[0].layer, -1);
  EXPECT_EQ(input.ablate[0].head, 0);
  EXPECT_EQ(input.ablate[0].mode, AblationMode::kUniform);
  EXPECT_FALSE(input.ablate[1].head.has_value());
  EXPECT_EQ(input.ablate[1].mode, AblationMode::kZero);
}

TEST(AttentionCodecTest, KeepsNegativeSelectionsAndHugeByteLimits) {
  v1::AttentionQuery query = Parse<v1::AttentionQuery>("text: 'a' layers: -1 heads: 3");
  query.set_max_bytes(std::numeric_limits<uint64_t>::max());
  ATTUNE_ASSERT_OK_AND_ASSIGN(const AttentionInput input, DecodeAttentionQuery(query));
  EXPECT_THAT(input.layers, ElementsAre(-1));
  EXPECT_THAT(input.heads, ElementsAre(3));
  EXPECT_EQ(input.max_bytes, std::numeric_limits<int64_t>::max());
}

TEST(AttendCodecTest, ChecksThatValuesFillTheMatrix) {
  EXPECT_THAT(DecodeAttendRequest(
                  Parse<v1::AttendRequest>("vectors { rows: 2 cols: 2 values: [1, 2, 3] }")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("vectors has 2 rows and 2 cols, but 3 values")));
  // 65,536 * 65,536 is 0 in 32 bits.
  EXPECT_THAT(DecodeAttendRequest(Parse<v1::AttendRequest>("vectors { rows: 65536 cols: 65536 }")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("but 0 values")));
}

TEST(AttendCodecTest, GivenWeightsExcludeWhatWouldHaveMadeThem) {
  const std::string base =
      "vectors { rows: 1 cols: 1 values: 1 } given_weights { rows: 1 cols: 1 values: 1 } ";
  EXPECT_THAT(DecodeAttendRequest(Parse<v1::AttendRequest>(base)), IsOk());
  for (const std::string field :
       {"score: ATTEND_SCORE_DOT", "normalizer: ATTEND_NORMALIZER_RELU", "mask { causal {} }",
        "additive_vector { rows: 1 cols: 1 values: 1 }"}) {
    EXPECT_THAT(DecodeAttendRequest(Parse<v1::AttendRequest>(base + field)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("given_weights")));
  }
}

TEST(AttendCodecTest, KeepsGraphEdgesInOrderAndDirection) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(
      const AttendInput input,
      DecodeAttendRequest(Parse<v1::AttendRequest>(
          "vectors { rows: 2 cols: 1 values: [1, 2] }"
          "mask { graph { edges { from: 0 to: 1 } edges { from: 1 to: 1 } } }")));
  EXPECT_EQ(input.mask.kind, AttendMask::Kind::kGraph);
  EXPECT_THAT(input.mask.edges, ElementsAre(std::pair(0, 1), std::pair(1, 1)));
}

}  // namespace
}  // namespace attune
