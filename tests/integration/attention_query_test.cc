// The forms of AttentionMap through a running server: what each makes of the plain weights.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/attention_maps.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::AttentionServerTest;
using ::attune::testing::GrpcStatusIs;
using ::attune::testing::IsGrpcOk;
using ::attune::testing::MapAttention;
using ::attune::testing::MapResult;
using ::attune::testing::ValuesOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kLayers = 3;
constexpr size_t kHeads = 4;
// [CLS] the cat ##s sat , [SEP]
const char* const kText = "text: 'the cats sat,'";
constexpr size_t kSeq = 7;
constexpr size_t kCells = kSeq * kSeq;
// A few roundings of numbers up to 1.
constexpr float kTolerance = 1e-6f;

class AttentionQueryTest : public AttentionServerTest {
 protected:
  AttentionQueryTest() : AttentionServerTest(kLayers, kHeads) {}

  MapResult Map(const std::string& options) {
    MapResult map = MapAttention(server_, kText + (" " + options));
    EXPECT_THAT(map.status, IsGrpcOk()) << options;
    return map;
  }

  // Every head of every layer.
  const std::vector<float>& Weights() {
    if (weights_.empty()) weights_ = Map("").Data();
    return weights_;
  }
  float Weight(size_t layer, size_t head, size_t query, size_t key) {
    return Weights()[(layer * kHeads + head) * kCells + query * kSeq + key];
  }

  void ExpectRefused(const std::string& query, const std::string& part,
                     grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    const int64_t before = server_.server().batches_run();
    EXPECT_THAT(MapAttention(server_, query).status, GrpcStatusIs(code, part)) << query;
    EXPECT_EQ(server_.server().batches_run(), before) << query;
  }

  std::vector<float> weights_;
};

TEST_F(AttentionQueryTest, EveryMatrixHasItsShapeAndFiniteValues) {
  for (const std::string matrix : {"RAW_SCORES", "VALUE_NORM"}) {
    const MapResult map = Map("matrix: ATTENTION_MATRIX_" + matrix);
    EXPECT_THAT(map.response.shape(), ElementsAre(kLayers, kHeads, kSeq, kSeq)) << matrix;
    EXPECT_THAT(map.Data(), SizeIs(kLayers * kHeads * kCells)) << matrix;
    EXPECT_THAT(map.response.heads(), SizeIs(kHeads)) << matrix;
  }
  for (const std::string matrix : {"ATTN_NORM", "RES_NORM", "RES_LN_NORM", "ROLLOUT", "FLOW",
                                   "VALUE_ZEROING", "HIDDEN_SIMILARITY"}) {
    const MapResult map = Map("matrix: ATTENTION_MATRIX_" + matrix);
    EXPECT_THAT(map.response.shape(), ElementsAre(kLayers, 1, kSeq, kSeq)) << matrix;
    EXPECT_THAT(map.Data(), SizeIs(kLayers * kCells)) << matrix;
    EXPECT_THAT(map.response.heads(), IsEmpty()) << matrix;
    EXPECT_EQ(v1::AttentionMatrix_Name(map.response.matrix()), "ATTENTION_MATRIX_" + matrix);
  }
  const MapResult none = Map("matrix: ATTENTION_MATRIX_NONE");
  EXPECT_THAT(none.response.shape(), IsEmpty());
  EXPECT_THAT(none.response.data(), IsEmpty());
}

TEST_F(AttentionQueryTest, ScoresGiveTheWeights) {
  const std::vector<float> scores = Map("matrix: ATTENTION_MATRIX_RAW_SCORES").Data();
  for (size_t row = 0; row < scores.size(); row += kSeq) {
    double sum = 0;
    for (size_t j = row; j < row + kSeq; ++j) sum += std::exp(double{scores[j]});
    for (size_t j = row; j < row + kSeq; ++j) {
      EXPECT_NEAR(std::exp(double{scores[j]}) / sum, Weights()[j], kTolerance);
    }
  }
}

TEST_F(AttentionQueryTest, RolloutRowsSumToOneAndARangeIsASlice) {
  const std::vector<float> full = Map("matrix: ATTENTION_MATRIX_ROLLOUT").Data();
  for (size_t row = 0; row < full.size(); row += kSeq) {
    EXPECT_NEAR(std::accumulate(full.begin() + row, full.begin() + row + kSeq, 0.0), 1, 1e-5);
  }
  const MapResult column =
      Map("matrix: ATTENTION_MATRIX_ROLLOUT layers: -1 key_range { begin: 2 end: 3 }");
  ASSERT_THAT(column.Data(), SizeIs(kSeq));
  for (size_t i = 0; i < kSeq; ++i) {
    EXPECT_EQ(column.Data()[i], full[2 * kCells + i * kSeq + 2]);
  }
}

TEST_F(AttentionQueryTest, FlowRowsSumToOneAndLongTextsAreRefused) {
  const std::vector<float> flow = Map("matrix: ATTENTION_MATRIX_FLOW").Data();
  ASSERT_THAT(flow, SizeIs(kLayers * kCells));
  for (size_t row = 0; row < flow.size(); row += kSeq) {
    EXPECT_NEAR(std::accumulate(flow.begin() + row, flow.begin() + row + kSeq, 0.0), 1, 1e-5);
  }
  // Of one layer there is no narrower place than its own weights.
  for (size_t i = 0; i < kSeq; ++i) {
    for (size_t j = 0; j < kSeq; ++j) {
      double mean = 0;
      for (size_t head = 0; head < kHeads; ++head) mean += double{Weight(0, head, i, j)} / kHeads;
      EXPECT_NEAR(flow[i * kSeq + j], (mean + (i == j ? 1 : 0)) / 2, kTolerance);
    }
  }
  std::string cats;
  for (int i = 0; i < 30; ++i) cats += "cat ";
  EXPECT_THAT(MapAttention(server_, "text: '" + cats + "' matrix: ATTENTION_MATRIX_FLOW").status,
              IsGrpcOk());
  ExpectRefused("text: '" + cats + "cat' matrix: ATTENTION_MATRIX_FLOW",
                "query.matrix FLOW takes texts of at most 32 tokens; this one has 33");
}

TEST_F(AttentionQueryTest, ValueZeroingRowsAreSharesOfATurn) {
  const std::vector<float> turns = Map("matrix: ATTENTION_MATRIX_VALUE_ZEROING").Data();
  for (size_t row = 0; row < turns.size(); row += kSeq) {
    EXPECT_NEAR(std::accumulate(turns.begin() + row, turns.begin() + row + kSeq, 0.0), 1, 1e-5);
    EXPECT_GT(*std::min_element(turns.begin() + row, turns.begin() + row + kSeq), 0);
  }
  // Nothing is read by a layer without heads, and so nothing turns.
  const std::vector<float> ablated =
      Map("matrix: ATTENTION_MATRIX_VALUE_ZEROING layers: 1 ablate { layer: 1 }").Data();
  EXPECT_THAT(ablated, Each(0));
}

TEST_F(AttentionQueryTest, ReductionsRunOverTheChosenHeadsAndLayers) {
  const MapResult max = Map("heads: [0, 2] layers: 1 head_reduction: ATTENTION_REDUCTION_MAX");
  EXPECT_THAT(max.response.shape(), ElementsAre(1, 1, kSeq, kSeq));
  EXPECT_THAT(max.response.heads(), ElementsAre(0, 2));
  const MapResult mean = Map("heads: 3 layer_reduction: ATTENTION_REDUCTION_MEAN");
  EXPECT_THAT(mean.response.shape(), ElementsAre(1, 1, kSeq, kSeq));
  EXPECT_THAT(mean.response.layers(), ElementsAre(0, 1, 2));
  for (size_t i = 0; i < kSeq; ++i) {
    for (size_t j = 0; j < kSeq; ++j) {
      EXPECT_EQ(max.Data()[i * kSeq + j], std::max(Weight(1, 0, i, j), Weight(1, 2, i, j)));
      EXPECT_NEAR(mean.Data()[i * kSeq + j],
                  (Weight(0, 3, i, j) + Weight(1, 3, i, j) + Weight(2, 3, i, j)) / 3, kTolerance);
    }
  }
}

TEST_F(AttentionQueryTest, RangesOfLayersAndHeadsAreSelections) {
  const MapResult map = Map("layer_ranges { begin: 1 } head_ranges { begin: -2 end: -1 } heads: 0");
  EXPECT_THAT(map.response.layers(), ElementsAre(1, 2));
  EXPECT_THAT(map.response.heads(), ElementsAre(0, 2));
}

TEST_F(AttentionQueryTest, WordsSumColumnsAndAverageRows) {
  const MapResult map = Map("level: ATTENTION_LEVEL_WORD layers: 0 heads: 0");
  const auto& words = map.response.words();
  ASSERT_EQ(words.size(), 6);
  EXPECT_EQ(words[0].text(), "[CLS]");
  EXPECT_TRUE(words[0].special());
  EXPECT_EQ(words[2].text(), "cats");
  EXPECT_EQ(words[2].token_begin(), 2u);
  EXPECT_EQ(words[2].token_end(), 4u);
  EXPECT_EQ(words[2].byte_begin(), 4u);
  EXPECT_EQ(words[2].byte_end(), 8u);
  EXPECT_THAT(map.response.keys(), ElementsAre(0, 1, 2, 3, 4, 5));
  const std::vector<float> data = map.Data();
  ASSERT_THAT(data, SizeIs(36));
  for (size_t row = 0; row < 36; row += 6) {
    EXPECT_NEAR(std::accumulate(data.begin() + row, data.begin() + row + 6, 0.0), 1, 1e-5);
  }
  EXPECT_NEAR(data[6 + 2], Weight(0, 0, 1, 2) + Weight(0, 0, 1, 3), kTolerance);
  EXPECT_NEAR(data[2 * 6 + 1], (Weight(0, 0, 2, 1) + Weight(0, 0, 3, 1)) / 2, kTolerance);
}

TEST_F(AttentionQueryTest, SpansAreWordsOfTheCallersOwn) {
  const MapResult map =
      Map("level: ATTENTION_LEVEL_WORD layers: 0 heads: 0 spans { begin: 0 end: 8 }");
  const auto& words = map.response.words();
  ASSERT_EQ(words.size(), 5);
  EXPECT_EQ(words[1].text(), "the cats");
  EXPECT_EQ(words[1].token_end(), 4u);
  ExpectRefused(kText + std::string(" spans { begin: 3 end: 3 }"), "query.spans[0] is [3, 3)");
  ExpectRefused(kText + std::string(" spans { begin: 0 end: 99 }"), "query.spans[0] is [0, 99)");
  ExpectRefused(kText + std::string(" spans { begin: 4 end: 6 } spans { begin: 5 end: 7 }"),
                "query.spans[1] is [5, 7)");
  ExpectRefused("text: '\\303\\251' spans { begin: 1 end: 2 }", "character borders");
}

TEST_F(AttentionQueryTest, SpecialTokensCanBeDroppedWithOrWithoutTheirRows) {
  const MapResult drop = Map("specials: ATTENTION_SPECIALS_DROP layers: 2 heads: 1");
  EXPECT_THAT(drop.response.shape(), ElementsAre(1, 1, kSeq - 2, kSeq - 2));
  EXPECT_THAT(drop.response.queries(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(drop.Data()[1], Weight(2, 1, 1, 2));
  EXPECT_NEAR(ValuesOf<float>(drop.response.kept_mass())[0],
              1 - Weight(2, 1, 1, 0) - Weight(2, 1, 1, 6), kTolerance);

  const MapResult renormalised =
      Map("specials: ATTENTION_SPECIALS_RENORMALISE specials_axes: ATTENTION_AXES_KEYS");
  EXPECT_THAT(renormalised.response.shape(), ElementsAre(kLayers, kHeads, kSeq, kSeq - 2));
  const std::vector<float> data = renormalised.Data();
  for (size_t row = 0; row < data.size(); row += kSeq - 2) {
    EXPECT_NEAR(std::accumulate(data.begin() + row, data.begin() + row + kSeq - 2, 0.0), 1, 1e-5);
  }
}

TEST_F(AttentionQueryTest, RangesTileTheMapBitForBit) {
  const std::string one_head = "layers: 1 heads: 2 ";
  std::vector<float> tiled;
  for (const std::string rows : {"begin: 0 end: 3", "begin: 3 end: 7"}) {
    const std::vector<float> left =
        Map(one_head + "query_range { " + rows + " } key_range { begin: 0 end: 4 }").Data();
    const std::vector<float> right =
        Map(one_head + "query_range { " + rows + " } key_range { begin: 4 end: 7 }").Data();
    for (size_t row = 0; row * 4 < left.size(); ++row) {
      tiled.insert(tiled.end(), left.begin() + row * 4, left.begin() + row * 4 + 4);
      tiled.insert(tiled.end(), right.begin() + row * 3, right.begin() + row * 3 + 3);
    }
  }
  EXPECT_EQ(tiled, Map(one_head).Data());
  ExpectRefused(kText + std::string(" query_range { begin: 0 end: 8 }"),
                "query.query_range is [0, 8); the map has 7");
}

TEST_F(AttentionQueryTest, PooledQueriesAreTheRowOfTheEmbedding) {
  // The tiny model pools by the mean.
  const MapResult map = Map("pooled_queries: true layers: 0 heads: 0");
  EXPECT_THAT(map.response.shape(), ElementsAre(1, 1, 1, kSeq));
  EXPECT_THAT(map.response.queries(), IsEmpty());
  for (size_t j = 0; j < kSeq; ++j) {
    double sum = 0;
    for (size_t i = 0; i < kSeq; ++i) sum += double{Weight(0, 0, i, j)};
    EXPECT_NEAR(map.Data()[j], sum / kSeq, kTolerance);
  }
}

TEST_F(AttentionQueryTest, TopKKeepsTheLargestOfEachRowAndTellsTheMass) {
  const MapResult map = Map("layers: 0 heads: 1 sparsity { top_k: 2 }");
  const std::vector<float> values = map.Data();
  const std::vector<uint16_t> columns = ValuesOf<uint16_t>(map.response.sparse().columns());
  const std::vector<float> kept = ValuesOf<float>(map.response.kept_mass());
  ASSERT_THAT(values, SizeIs(2 * kSeq));
  ASSERT_THAT(columns, SizeIs(2 * kSeq));
  EXPECT_THAT(ValuesOf<uint16_t>(map.response.sparse().row_lengths()), Each(2));
  for (size_t i = 0; i < kSeq; ++i) {
    std::vector<float> row;
    for (size_t j = 0; j < kSeq; ++j) row.push_back(Weight(0, 1, i, j));
    for (size_t n = 0; n < 2; ++n) {
      EXPECT_EQ(values[2 * i + n], row[columns[2 * i + n]]);
    }
    std::sort(row.rbegin(), row.rend());
    EXPECT_EQ(values[2 * i], row[0]);
    EXPECT_EQ(values[2 * i + 1], row[1]);
    EXPECT_NEAR(kept[i], row[0] + row[1], kTolerance);
  }
}

TEST_F(AttentionQueryTest, MassKeepsAtLeastItsShare) {
  const MapResult map = Map("sparsity { mass: 0.7 } encoding: ATTENTION_ENCODING_F16");
  const std::vector<uint16_t> lengths = ValuesOf<uint16_t>(map.response.sparse().row_lengths());
  const std::vector<float> kept = ValuesOf<float>(map.response.kept_mass());
  ASSERT_THAT(lengths, SizeIs(kLayers * kHeads * kSeq));
  for (const float mass : kept) EXPECT_GE(mass, 0.7f - kTolerance);
  EXPECT_EQ(map.response.data().size(),
            2 * static_cast<size_t>(std::accumulate(lengths.begin(), lengths.end(), 0)));
}

TEST_F(AttentionQueryTest, ShorterEncodingsAreWithinTheirStep) {
  const MapResult f16 = Map("encoding: ATTENTION_ENCODING_F16");
  EXPECT_EQ(f16.response.data().size(), Weights().size() * 2);
  const MapResult u8 = Map("encoding: ATTENTION_ENCODING_U8");
  const std::vector<uint8_t> steps = ValuesOf<uint8_t>(u8.response.data());
  const std::vector<float> scales = ValuesOf<float>(u8.response.row_scales());
  ASSERT_EQ(steps.size(), Weights().size());
  for (size_t i = 0; i < steps.size(); ++i) {
    // scales are row maximum / 255, and the error half of that.
    EXPECT_NEAR(scales[i / kSeq] * steps[i], Weights()[i], scales[i / kSeq] * 0.5001);
  }
}

TEST_F(AttentionQueryTest, PicturesAreTheMaximaOfTheirParts) {
  const MapResult map = Map("layers: 0 heads: 0 pool { size: 2 }");
  EXPECT_THAT(map.response.shape(), ElementsAre(1, 1, 2, 2));
  float largest = 0;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 3; j < kSeq; ++j) largest = std::max(largest, Weight(0, 0, i, j));
  }
  EXPECT_EQ(map.Data()[1], largest);
}

TEST_F(AttentionQueryTest, StatisticsTellWhatTheMatrixWould) {
  const MapResult map = Map("matrix: ATTENTION_MATRIX_NONE statistics: true");
  ASSERT_EQ(map.response.statistics_size(), static_cast<int>(kLayers * kHeads));
  const v1::HeadSummary& summary = map.response.statistics(5);
  EXPECT_EQ(summary.layer(), 1u);
  EXPECT_EQ(summary.head(), 1u);
  double self = 0;
  double previous = 0;
  double separator = 0;
  double punctuation = 0;
  double distance = 0;
  for (size_t i = 0; i < kSeq; ++i) {
    self += double{Weight(1, 1, i, i)} / kSeq;
    if (i > 0) previous += double{Weight(1, 1, i, i - 1)} / kSeq;
    separator += double{Weight(1, 1, i, 6)} / kSeq;
    punctuation += double{Weight(1, 1, i, 5)} / kSeq;
    for (size_t j = 0; j < kSeq; ++j) {
      distance += double{Weight(1, 1, i, j)} *
                  std::abs(static_cast<double>(j) - static_cast<double>(i)) / kSeq;
    }
  }
  EXPECT_NEAR(summary.self_mass(), self, kTolerance);
  EXPECT_NEAR(summary.previous_mass(), previous, kTolerance);
  EXPECT_NEAR(summary.separator_mass(), separator, kTolerance);
  EXPECT_NEAR(summary.punctuation_mass(), punctuation, kTolerance);
  EXPECT_NEAR(summary.distance(), distance, 1e-5);
  EXPECT_FLOAT_EQ(summary.cls_mass(), summary.first_mass());
}

TEST_F(AttentionQueryTest, MixingRatiosFollowTheMatrix) {
  const MapResult weights = Map("mixing_ratio: true");
  const std::vector<float> by_weight = ValuesOf<float>(weights.response.mixing_ratio());
  ASSERT_THAT(by_weight, SizeIs(kLayers * kSeq));
  double own = 0;
  for (size_t head = 0; head < kHeads; ++head) own += double{Weight(2, head, 3, 3)} / kHeads;
  EXPECT_NEAR(by_weight[2 * kSeq + 3], 1 - own, kTolerance);
  const std::vector<float> with_residual = ValuesOf<float>(
      Map("matrix: ATTENTION_MATRIX_RES_NORM mixing_ratio: true").response.mixing_ratio());
  for (const float ratio : with_residual) {
    EXPECT_GT(ratio, 0);
    EXPECT_LT(ratio, 1);
  }
}

TEST_F(AttentionQueryTest, BlocksTileTheMapOfAPair) {
  const std::string pair = "text_pair { first: 'the cat' second: 'a dog ran' } layers: 1 heads: 0 ";
  const auto block = [&](const std::string& name) {
    return MapAttention(server_, pair + "block: ATTENTION_BLOCK_" + name);
  };
  // [CLS] the cat [SEP] | a dog ran [SEP]
  const std::vector<float> full = block("ALL").Data();
  ASSERT_THAT(full, SizeIs(64));
  const MapResult ab = block("AB");
  EXPECT_THAT(ab.response.shape(), ElementsAre(1, 1, 4, 4));
  EXPECT_THAT(ab.response.queries(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ab.response.keys(), ElementsAre(4, 5, 6, 7));
  const std::vector<float> aa = block("AA").Data();
  const std::vector<float> ba = block("BA").Data();
  const std::vector<float> bb = block("BB").Data();
  const MapResult mass = block("MASS");
  EXPECT_THAT(mass.response.shape(), ElementsAre(1, 1, 2, 2));
  double a_to_b = 0;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(aa[i * 4 + j], full[i * 8 + j]);
      EXPECT_EQ(ab.Data()[i * 4 + j], full[i * 8 + j + 4]);
      EXPECT_EQ(ba[i * 4 + j], full[(i + 4) * 8 + j]);
      EXPECT_EQ(bb[i * 4 + j], full[(i + 4) * 8 + j + 4]);
      a_to_b += double{full[i * 8 + j + 4]} / 4;
    }
  }
  EXPECT_NEAR(mass.Data()[1], a_to_b, kTolerance);
  EXPECT_NEAR(mass.Data()[0] + mass.Data()[1], 1, 1e-5);
  ExpectRefused(kText + std::string(" block: ATTENTION_BLOCK_AB"), "query.block needs");
}

TEST_F(AttentionQueryTest, ProvenanceAndEchoLetTheAnswerBeRepeated) {
  const MapResult map = Map("layers: -1 head_reduction: ATTENTION_REDUCTION_SUM");
  std::string ids;
  for (const v1::Token& token : map.response.tokens()) {
    for (int shift = 0; shift < 32; shift += 8) {
      ids.push_back(static_cast<char>(token.id() >> shift));
    }
  }
  EXPECT_EQ(map.response.provenance().input_sha256(), Sha256Hex(ids));
  EXPECT_EQ(map.response.original_tokens(), kSeq);

  v1::AttentionQuery again = map.response.query();
  EXPECT_EQ(again.input_case(), v1::AttentionQuery::INPUT_NOT_SET);
  EXPECT_THAT(again.layers(), ElementsAre(2));
  EXPECT_EQ(again.level(), v1::ATTENTION_LEVEL_TOKEN);
  EXPECT_EQ(again.encoding(), v1::ATTENTION_ENCODING_F32);
  again.set_text("the cats sat,");
  const MapResult repeated = MapAttention(server_, again);
  EXPECT_THAT(repeated.status, IsGrpcOk());
  EXPECT_EQ(repeated.response.data(), map.response.data());
}

TEST_F(AttentionQueryTest, CombinationsThatMeanNothingAreRefusedBeforeAnyWork) {
  const std::string text = "text: 'a cat' ";
  ExpectRefused(text + "matrix: ATTENTION_MATRIX_RAW_SCORES encoding: ATTENTION_ENCODING_U8",
                "query.encoding U8 does not go with query.matrix RAW_SCORES");
  ExpectRefused(text + "matrix: ATTENTION_MATRIX_ROLLOUT heads: 1", "query.heads");
  ExpectRefused(text + "layer_reduction: ATTENTION_REDUCTION_L2", "query.layer_reduction");
  ExpectRefused(text + "pool { size: 65 }", "query.pool.size is 65");
  ExpectRefused(text + "sparsity { }", "query.sparsity needs");
  ExpectRefused(text + "head_ranges { begin: 9 }", "query.head_ranges holds 9");
}

// Every form's reply is within what was promised for it: the limit is told from the size before the
// text is computed, so asking again with the real size plus the slack must pass, and with less than
// the data alone must not.
TEST_F(AttentionQueryTest, TheByteLimitHoldsForEveryForm) {
  for (const std::string form :
       {"", "encoding: ATTENTION_ENCODING_F16", "encoding: ATTENTION_ENCODING_U8",
        "sparsity { top_k: 3 }", "sparsity { mass: 0.5 }", "pool { size: 3 }",
        "level: ATTENTION_LEVEL_WORD", "statistics: true matrix: ATTENTION_MATRIX_NONE",
        "mixing_ratio: true want_embedding: true", "matrix: ATTENTION_MATRIX_RES_NORM",
        "specials: ATTENTION_SPECIALS_DROP", "ablate { layer: 0 } want_embedding: true",
        "erasure: TOKEN_ERASURE_MASK matrix: ATTENTION_MATRIX_NONE"}) {
    const MapResult map = Map(form);
    const size_t bytes = map.response.ByteSizeLong();
    // Framing, defaults and numbers that are allowed for and not used: below 8 KiB here.
    EXPECT_THAT(Map(form + " max_bytes: " + std::to_string(bytes + 8192)).status, IsGrpcOk());
    ExpectRefused(kText + (" " + form + " max_bytes: " + std::to_string(bytes - 1)),
                  "query.max_bytes allows " + std::to_string(bytes - 1));
  }
}

}  // namespace
}  // namespace attune
